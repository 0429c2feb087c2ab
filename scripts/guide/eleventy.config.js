/** What Eleventy takes from a file alone; `build.ts` has the rest. Pages speak of templates, and are none. */
export default () => ({ markdownTemplateEngine: false });
