/** What other modules may use. */
export { bodyOf, FileProblem, filesOf, projectFile, type TextFile } from './files.ts';
export { type WithoutSecrets, withoutSecrets, withSecrets } from './decide/secrets.ts';
export { readFolder, writeFolder } from './folder.ts';
