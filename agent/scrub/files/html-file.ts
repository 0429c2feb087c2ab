/** HTML: text, except that reports of Playwright carry an archive of their own in base64. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hideCredentials } from '../detect.ts';
import { Redactor } from '../redactor.ts';
import { maxParsedBytes, replaceFile, unscrubbable, type FileHandler } from './file-task.ts';
import { scrubTextFile } from './text-file.ts';

/** How zip archives, and what gzip made, begin in base64. */
const markers = [';base64,UEsD', ';base64,UEsF', ';base64,H4sI'];
const prefixLength = ';base64,'.length;
const notBase64 = /[^A-Za-z0-9+/=]/g;

function findArchives(text: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const marker of markers) {
    for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
      const start = at + prefixLength;
      notBase64.lastIndex = start;
      found.push({ start, end: notBase64.exec(text)?.index ?? text.length });
    }
  }
  return found.sort((a, b) => a.start - b.start);
}

export const scrubHtmlFile: FileHandler = async (path, task, _claim, nested) => {
  const { needles, detect } = task.scrub;
  if ((await stat(path)).size > maxParsedBytes * 4)
    throw unscrubbable(`it is HTML of more than ${maxParsedBytes * 4} bytes`);
  const bytes = await readFile(path);
  const archives = findArchives(bytes.toString('latin1'));
  if (archives.length === 0) return scrubTextFile(path, task);
  let isChanged = false;
  const scrubText = (from: number, to: number): Buffer => {
    const redactor = new Redactor(needles);
    const part = bytes.subarray(from, to);
    const redacted = Buffer.concat([...redactor.push(part), ...redactor.end()]);
    const scrubbed = detect ? hideCredentials(redacted) : redacted;
    if (!scrubbed.equals(part)) isChanged = true;
    return scrubbed;
  };
  return replaceFile(path, async (temporary) => {
    const archive = `${temporary}.archive`;
    const parts: Buffer[] = [];
    let at = 0;
    try {
      for (const { start, end } of archives) {
        parts.push(scrubText(at, start));
        await writeFile(archive, Buffer.from(bytes.toString('latin1', start, end), 'base64'), {
          mode: 0o600,
        });
        if (await nested(archive, task, { name: '', contentType: '' })) {
          isChanged = true;
          parts.push(Buffer.from((await readFile(archive)).toString('base64')));
        } else parts.push(bytes.subarray(start, end));
        at = end;
      }
      parts.push(scrubText(at, bytes.length));
      await writeFile(temporary, Buffer.concat(parts), { flag: 'wx', mode: 0o600 });
      return isChanged;
    } finally {
      await rm(archive, { force: true });
    }
  });
};
