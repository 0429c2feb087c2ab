/** Import it dynamically, not `yaml` itself: in a bundle a CommonJS package has only a default export then. */
export { parse as parseYaml } from 'yaml';
