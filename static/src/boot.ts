// Runs before the first paint: the theme, and that there is JavaScript.
const root = document.documentElement;
root.classList.add("js");
try {
  const theme = localStorage.getItem("stridescope.theme");
  if (theme) root.dataset.theme = theme;
  const lecture = localStorage.getItem("stridescope.lecture");
  if (lecture) root.style.setProperty("--lecture", lecture);
} catch {
  // No storage: the system's theme.
}
