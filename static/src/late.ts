// Parts of the page that the first screen does without: they come with the first pane of the details that is opened,
// or the first result that is drawn.
export { PANES } from "panes:all";
export { Grid } from "./values/grid";
export { histogram, lines } from "./values/plot";
export { Table } from "./values/table";
