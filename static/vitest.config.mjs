// Tests of the page's code that need no browser: `static/page.py check` runs them, `static/page.py test` alone.
export default {
  test: {
    include: ["static/tests/**/*.test.{ts,mjs}"],
    environment: "node",
    pool: "threads",
    maxWorkers: 1,
    isolate: false,
    // All other tests run beside these: how long one takes says nothing about it.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
};
