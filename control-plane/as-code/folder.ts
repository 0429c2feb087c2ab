/** The files of a project on disk. */
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { commandDoors } from '../core/doors.ts';
import { OperatorError, trying } from '../errors/operator-error.ts';
import { isResource, projectFile, type TextFile } from './files.ts';

const { fileBytes, files: maxFiles } = commandDoors.apply.reads;
const isYaml = (name: string): boolean => /\.ya?ml$/.test(name);

/** All YAML files of a folder, without those of folders that begin with a dot. */
export async function readFolder(folder: string): Promise<TextFile[]> {
  return trying(`read the folder ${folder}`, async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && isYaml(entry.name))
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .filter((path) => !path.split('/').some((step) => step.startsWith('.')))
      .sort();
    if (files.length > maxFiles) {
      throw new OperatorError(
        `${folder} has ${files.length} files: name the folder of one project`,
      );
    }
    const texts: TextFile[] = [];
    for (const path of files) {
      const text = await trying(`read ${path}`, () => readAtMost(join(folder, path), fileBytes));
      texts.push({ path, text });
    }
    return texts;
  });
}

/** A folder of others may hold links to places outside of it: nothing is written there. */
async function refuseLinks(folder: string, path: string): Promise<void> {
  const steps = path.split('/');
  for (let at = 1; at <= steps.length; at += 1) {
    const place = join(folder, ...steps.slice(0, at));
    const found = await lstat(place).catch(() => null);
    if (found?.isSymbolicLink() !== true) continue;
    throw new OperatorError(`${place} is a symbolic link: remove it, or name another folder`);
  }
}

/**
 * Writes what differs, and removes files of resources that are no longer among them. Gives the paths of both.
 * Refuses a folder that holds something else.
 */
export async function writeFolder(
  folder: string,
  files: readonly TextFile[],
): Promise<{ written: string[]; removed: string[] }> {
  return trying(`write the folder ${folder}`, async () => {
    makeFolders(folder);
    const before = new Map((await readFolder(folder)).map(({ path, text }) => [path, text]));
    if (before.size > 0 && !before.has(projectFile)) {
      throw new OperatorError(
        `${folder} holds other YAML files; name an empty folder, or one of an export`,
      );
    }
    const written: string[] = [];
    for (const { path, text } of files) {
      if (before.get(path) === text) continue;
      await refuseLinks(folder, path);
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
      written.push(path);
    }
    const kept = new Set(files.map(({ path }) => path));
    const removed = [...before.keys()].filter((path) => isResource(path) && !kept.has(path));
    for (const path of removed) await rm(join(folder, path));
    return { written, removed };
  });
}
