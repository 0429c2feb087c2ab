/** Names and types of files as they may leave the agent. */
import { artifactName } from '@monitor/shared/contract/agent-protocol.ts';

const longest = 200;

function plainPart(part: string): string {
  const plain = part.replace(/[^\w .()-]/g, '_').replace(/^[^\w-]/, '_');
  return plain === '' ? '_' : plain;
}

/** Cuts the middle: both the beginning and the extension say what a file is. */
function shortened(name: string, length: number): string {
  if (name.length <= length) return name;
  const extension = /\.\w{1,16}$/.exec(name)?.[0] ?? '';
  return name.slice(0, length - extension.length) + extension;
}

/**
 * The name the wire allows that is closest to the wanted one: of one or two parts, plain, at most 200
 * characters. `a/b/c d.png` becomes `a/b_c d.png`.
 */
export function toArtifactName(wanted: string): string {
  const [first = '', ...rest] = wanted.split('/').filter((part) => part !== '');
  const parts = rest.length === 0 ? [first] : [first, rest.join('_')];
  const [folder = '', file] = parts.map(plainPart);
  if (file === undefined) return shortened(folder, longest);
  const shortFolder = folder.slice(0, longest / 2);
  return `${shortFolder}/${shortened(file, longest - shortFolder.length - 1)}`;
}

/** The same name with a number before its extension: `trace.zip` becomes `trace-2.zip`. */
export function numbered(name: string, number: number): string {
  const extension = /\.\w{1,16}$/.exec(name)?.[0] ?? '';
  const tail = `-${number}${extension}`;
  return name.slice(0, Math.min(name.length - extension.length, longest - tail.length)) + tail;
}

/** True for what `toArtifactName` leaves alone. */
export const isArtifactName = (name: string): boolean => artifactName.safeParse(name).success;

/** A type that can stand in a header; what cannot is of an unknown type. */
export function toContentType(wanted: string): string {
  const isPlain = /^[\w.+-]{1,127}\/[\w.+-]{1,127}(; ?charset=[\w-]{1,40})?$/.test(wanted);
  return isPlain ? wanted : 'application/octet-stream';
}

/** True for types that gzip makes much smaller. */
export function isCompressible(contentType: string): boolean {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  return (
    type.startsWith('text/') ||
    /[/+](json|xml|javascript|ecmascript|yaml|x-yaml|x-ndjson|jsonl)$/.test(type) ||
    type === 'image/svg+xml' ||
    type === 'application/vnd.tcpdump.pcap'
  );
}
