/**
 * Types of a method by server reflection: version 1, then its alpha. One call; the file of the service,
 * then what it imports. Files and bytes are limited: the server decides what it sends.
 */
import type { FileRegistry, Message } from '@bufbuild/protobuf';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { wellKnownFiles } from '@monitor/shared/grpc/proto-file.ts';
import { qualifyNames } from '@monitor/shared/grpc/qualify-names.ts';
import { GrpcCall, type CallEnd, type CallRequest } from '../../net/grpc/call.ts';
import { isDecodable } from '../../net/grpc/decoded-length.ts';
import type { ClientHttp2Session } from 'node:http2';
import { reflectionMethod, reflectionVersions, type ReflectionVersion } from './protocols.ts';

const maxFiles = 500;
const maxBytes = 4_194_304;
const maxServices = 100;
const unimplemented = 12;

/** What of the answer is read. */
interface Answer {
  messageResponse:
    | { case: 'fileDescriptorResponse'; value: { fileDescriptorProto: Uint8Array[] } }
    | { case: 'listServicesResponse'; value: { service: { name: string }[] } }
    | { case: 'errorResponse'; value: { errorCode: number; errorMessage: string } }
    | { case: undefined };
}

/** The server has the types, but they are useless, or too many. */
export class UselessReflection extends Error {}

/** The call ended before the types were known. */
export class ReflectionEnded extends Error {
  readonly end: CallEnd;

  constructor(end: CallEnd) {
    super(end.problem?.detail ?? end.statusMessage);
    this.end = end;
  }
}

type Asked =
  { fileContainingSymbol: string } | { fileByFilename: string } | { listServices: string };

/** One call of reflection: a question, an answer. */
class Reflection {
  readonly #call: GrpcCall;
  readonly #ask: (asked: Asked) => Uint8Array;
  readonly #read: (bytes: Uint8Array) => Promise<Answer>;
  readonly #onAnswer: () => void;

  constructor(
    call: GrpcCall,
    ask: (asked: Asked) => Uint8Array,
    read: (bytes: Uint8Array) => Promise<Answer>,
    onAnswer: () => void,
  ) {
    this.#call = call;
    this.#ask = ask;
    this.#read = read;
    this.#onAnswer = onAnswer;
  }

  async answerTo(asked: Asked): Promise<Answer['messageResponse']> {
    this.#call.send(this.#ask(asked));
    const next = await this.#call.next();
    this.#onAnswer();
    if ('end' in next) throw new ReflectionEnded(next.end);
    return (await this.#read(next.message)).messageResponse;
  }

  end(): Promise<void> {
    this.#call.endSending();
    return this.#call.cancel();
  }
}

async function open(
  session: ClientHttp2Session,
  request: Omit<CallRequest, 'method' | 'timeoutMs'>,
  version: ReflectionVersion,
  onAnswer: () => void,
): Promise<Reflection> {
  const [{ create, fromBinary, toBinary }, { input, output, parent }] = await Promise.all([
    import('@bufbuild/protobuf'),
    reflectionMethod(version),
  ]);
  const method = `${parent.typeName}/ServerReflectionInfo`;
  return new Reflection(
    // A busy machine reads the answer late, and asks for the next file late: no clock of the server may end that.
    new GrpcCall(session, { ...request, method, timeoutMs: null }),
    (asked) => {
      const [[name, value] = ['', '']] = Object.entries(asked) as [string, string][];
      const message: Message = create(input, { messageRequest: { case: name, value } } as Record<
        string,
        unknown
      >);
      return toBinary(input, message);
    },
    async (bytes) => {
      if (!(await isDecodable(bytes, output)))
        throw new UselessReflection('an answer is too large');
      try {
        return fromBinary(output, bytes) as unknown as Answer;
      } catch (error) {
        throw new UselessReflection('an answer cannot be read', { cause: error });
      }
    },
    onAnswer,
  );
}

/** Files by name, as far as they were asked for. */
class Files {
  readonly found = new Map<string, FileDescriptorProto>();
  readonly #wellKnown = new Set<FileDescriptorProto>();
  #bytes = 0;

  async add(encoded: readonly Uint8Array[]): Promise<void> {
    const [{ fromBinary }, { FileDescriptorProtoSchema: schema }] = await Promise.all([
      import('@bufbuild/protobuf'),
      import('@bufbuild/protobuf/wkt'),
    ]);
    for (const bytes of encoded) {
      this.#bytes += bytes.length;
      if (this.#bytes > maxBytes || this.found.size >= maxFiles) {
        throw new UselessReflection(
          `the types of the service are more than ${maxFiles} files or ${maxBytes} bytes`,
        );
      }
      if (!(await isDecodable(bytes, schema))) throw new UselessReflection('a file is too large');
      try {
        const file = fromBinary(schema, bytes);
        if (!this.found.has(file.name)) this.found.set(file.name, file);
      } catch (error) {
        throw new UselessReflection('a file cannot be read', { cause: error });
      }
    }
  }

  /** Types that have a form of their own in JSON: servers need not give them. */
  async addWellKnown(): Promise<void> {
    for (const [name, { proto }] of await wellKnownFiles()) {
      this.#wellKnown.add(proto);
      this.found.set(name, proto);
    }
  }

  /** Imported by a file, and not there. */
  missing(asked: ReadonlySet<string>): string | undefined {
    for (const { dependency } of this.found.values()) {
      const name = dependency.find((one) => !this.found.has(one) && !asked.has(one));
      if (name !== undefined) return name;
    }
    return undefined;
  }

  /** Each file behind what it imports. What the server does not give is left out. */
  async registry(): Promise<FileRegistry> {
    const [{ create, createFileRegistry }, { FileDescriptorSetSchema }] = await Promise.all([
      import('@bufbuild/protobuf'),
      import('@bufbuild/protobuf/wkt'),
    ]);
    const sorted: FileDescriptorProto[] = [];
    const visited = new Set<string>();
    const visit = (file: FileDescriptorProto): void => {
      if (visited.has(file.name)) return;
      visited.add(file.name);
      const known = file.dependency.flatMap((name) => this.found.get(name) ?? []);
      for (const one of known) visit(one);
      if (known.length < file.dependency.length) file.dependency = known.map(({ name }) => name);
      sorted.push(file);
    };
    for (const file of this.found.values()) visit(file);
    try {
      qualifyNames(
        sorted.filter((file) => !this.#wellKnown.has(file)),
        [...this.#wellKnown],
      );
      return createFileRegistry(create(FileDescriptorSetSchema, { file: sorted }));
    } catch (error) {
      const reason = error instanceof Error ? error.message.slice(0, 200) : '';
      throw new UselessReflection(`the types cannot be used: ${reason}`, { cause: error });
    }
  }
}

async function serviceNames(reflection: Reflection): Promise<string[]> {
  const answer = await reflection.answerTo({ listServices: '' });
  if (answer.case !== 'listServicesResponse') return [];
  return answer.value.service.slice(0, maxServices).map(({ name }) => name.slice(0, 500));
}

async function typesOf(reflection: Reflection, service: string): Promise<FileRegistry> {
  const files = new Files();
  await files.addWellKnown();
  const answer = await reflection.answerTo({ fileContainingSymbol: service });
  if (answer.case !== 'fileDescriptorResponse') {
    const names = await serviceNames(reflection);
    const known = names.length === 0 ? '' : `; it has ${names.join(', ').slice(0, 1_000)}`;
    throw new UselessReflection(`the server has no service ${service}${known}`);
  }
  await files.add(answer.value.fileDescriptorProto);
  const asked = new Set<string>();
  for (let name = files.missing(asked); name !== undefined; name = files.missing(asked)) {
    asked.add(name);
    if (asked.size > maxFiles)
      throw new UselessReflection(`it imports more than ${maxFiles} files`);
    const file = await reflection.answerTo({ fileByFilename: name });
    if (file.case === 'fileDescriptorResponse') await files.add(file.value.fileDescriptorProto);
  }
  return files.registry();
}

/** The types of a service; `onAnswer` is called when an answer came. Throws UselessReflection or ReflectionEnded. */
export async function reflect(
  session: ClientHttp2Session,
  request: Omit<CallRequest, 'method' | 'timeoutMs'>,
  service: string,
  onAnswer: () => void,
): Promise<FileRegistry> {
  for (const version of reflectionVersions) {
    const reflection = await open(session, request, version, onAnswer);
    try {
      return await typesOf(reflection, service);
    } catch (error) {
      const isLast = version === reflectionVersions.at(-1);
      const isUnknown = error instanceof ReflectionEnded && error.end.status === unimplemented;
      if (!isUnknown || isLast) throw error;
    } finally {
      // Frames that are sent later would hide from the kernel's times when the check's own call was sent.
      await reflection.end();
    }
  }
  throw new UselessReflection('no version was asked for');
}
