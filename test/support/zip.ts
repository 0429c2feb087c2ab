/** Zip archives in memory. */
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';

/** An archive, from contents by name. */
export async function zipOf(entries: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries)) zip.addBuffer(content, name);
  zip.end();
  return buffer(zip.outputStream as NodeJS.ReadableStream & AsyncIterable<Buffer>);
}

/** The contents by name. */
export async function unzipped(archive: Buffer): Promise<Record<string, Buffer>> {
  const zip = await fromBufferPromise(archive, { lazyEntries: true });
  const found: Record<string, Buffer> = {};
  for await (const entry of zip.eachEntry()) {
    found[entry.fileName] = await buffer(await zip.openReadStreamPromise(entry));
  }
  return found;
}
