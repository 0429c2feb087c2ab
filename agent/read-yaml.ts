/** Loaded when a file is read. A bundle gives a package of the older kind no names where it is imported later itself. */
export { parse as parseYaml } from 'yaml';
