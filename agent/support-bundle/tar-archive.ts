/** A compressed tar archive of texts, made in memory: nothing unscrubbed is ever on disk. */
import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

const blockSize = 512;

/** Files by path, all for their owner alone. */
export function tarArchive(files: ReadonlyMap<string, string>, at: Date): Buffer {
  const blocks: Buffer[] = [];
  for (const [path, text] of files) {
    const content = Buffer.from(text);
    const header = Buffer.alloc(blockSize);
    new Header({
      ...{ path, mode: 0o600, uid: 0, gid: 0, mtime: at },
      size: content.length,
      type: 'File',
    }).encode(header);
    const padding = Buffer.alloc((blockSize - (content.length % blockSize)) % blockSize);
    blocks.push(header, content, padding);
  }
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockSize)]), { level: 9 });
}
