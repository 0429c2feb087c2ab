/** A zip archive in memory, from contents by name. */
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

export async function zipOf(entries: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries)) zip.addBuffer(content, name);
  zip.end();
  return buffer(zip.outputStream as NodeJS.ReadableStream & AsyncIterable<Buffer>);
}
