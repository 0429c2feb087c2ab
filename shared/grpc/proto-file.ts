/**
 * Reads the text of a `.proto` file into descriptors. The parser and the descriptors are loaded at the
 * first use: most processes never read one.
 */
import type { DescFile, FileRegistry } from '@bufbuild/protobuf';
import { qualifyNames } from './qualify-names.ts';

/** Characters of a file. */
export const maxProtoLength = 262_144;

/** What is wrong with a file, as a sentence that names the line where it is known. */
export class ProtoProblem extends Error {}

const edition = /^\s*(?:syntax|edition)\s*=\s*["']([^"']+)["']/m;
/** The files that others may import, by name. */
export async function wellKnownFiles(): Promise<ReadonlyMap<string, DescFile>> {
  const wkt = await import('@bufbuild/protobuf/wkt');
  const files = [
    wkt.file_google_protobuf_any,
    wkt.file_google_protobuf_duration,
    wkt.file_google_protobuf_empty,
    wkt.file_google_protobuf_field_mask,
    wkt.file_google_protobuf_struct,
    wkt.file_google_protobuf_timestamp,
    wkt.file_google_protobuf_wrappers,
  ];
  return new Map<string, DescFile>(files.map((file) => [`${file.name}.proto`, file]));
}

async function load() {
  const [
    { default: protobufjs },
    { default: descriptor },
    { fromBinary, createFileRegistry },
    wkt,
  ] = await Promise.all([
    import('protobufjs'),
    import('protobufjs/ext/descriptor.js'),
    import('@bufbuild/protobuf'),
    import('@bufbuild/protobuf/wkt'),
  ]);
  return {
    protobufjs,
    descriptor,
    fromBinary,
    createFileRegistry,
    wkt,
    known: await wellKnownFiles(),
  };
}

const commentsAndTexts = /\/\*[^]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;
/** The time of the parser grows with the square of the statements of a block. */
const maxStatements = 1_000;

function refuseLargeBlocks(text: string): void {
  const open = [0];
  for (const [sign] of text.replaceAll(commentsAndTexts, '').matchAll(/[{};]/g)) {
    const block = open.length - 1;
    if (sign === '}') {
      open.length = Math.max(1, block);
      continue;
    }
    open[block] = (open[block] ?? 0) + 1;
    if (sign === '{') open.push(0);
    if (open[block] === maxStatements) {
      throw new ProtoProblem(`a block of it has more than ${maxStatements} statements`);
    }
  }
}

function sentenceOf(error: unknown): string {
  // The parser is recursive.
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError || message === 'max depth exceeded')
    return 'it is nested too deeply';
  const line = /\((?:.*, )?line (\d+)\)$/.exec(message);
  const what = message.replace(/ ?\([^()]*line \d+\)$/, '').slice(0, 200) || 'it cannot be read';
  return line === null ? what : `line ${line[1]}: ${what}`;
}

/** The types and services of a file. Throws ProtoProblem. */
export async function readProtoFile(text: string): Promise<FileRegistry> {
  const { protobufjs, descriptor, fromBinary, createFileRegistry, wkt, known } = await load();
  refuseLargeBlocks(text);
  try {
    const root = new protobufjs.Root();
    const parsed = protobufjs.parse(text, root, { keepCase: true });
    const importable = [...known.keys()];
    const imports = [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])];
    const unknown = imports.find((name) => !importable.includes(name));
    if (unknown !== undefined) {
      const shortNames = importable.map((name) => name.replace('google/protobuf/', '')).join(', ');
      throw new ProtoProblem(
        `it imports "${unknown}"; only common types of google/protobuf can be imported (${shortNames}), so put the others into this file`,
      );
    }
    for (const name of importable) {
      const { nested } = protobufjs.common.get(name) ?? {};
      if (nested !== undefined) root.addJSON(nested);
    }
    root.resolveAll();
    const written = edition.exec(text)?.[1] ?? 'proto2';
    const set = root.toDescriptor(written);
    const bytes = descriptor.FileDescriptorSet.encode(set).finish();
    const files = fromBinary(wkt.FileDescriptorSetSchema, bytes).file.filter(
      ({ package: name }) => name !== 'google.protobuf',
    );
    const [file] = files;
    if (file === undefined) throw new ProtoProblem('it has no messages and no services');
    qualifyNames(
      [file],
      [...known.values()].map(({ proto }) => proto),
    );
    file.dependency = importable;
    return createFileRegistry(file, (name) => known.get(name));
  } catch (error) {
    if (error instanceof ProtoProblem) throw error;
    throw new ProtoProblem(sentenceOf(error), { cause: error });
  }
}
