/** A method that a gRPC check calls, and its messages. */
import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
  Registry,
} from '@bufbuild/protobuf';
import { ProtoProblem, readProtoFile } from './proto-file.ts';

type Names = Pick<Registry, 'getService'>;

/** `package.Service` and `Method` of `package.Service/Method`. */
export function splitMethod(path: string): { service: string; name: string } {
  const [service = '', name = ''] = path.replace(/^\//, '').split('/');
  return { service, name };
}

/** One request, and one response or a stream of them. */
type Callable = DescMethodUnary | DescMethodServerStreaming;

function isCallable(method: DescMethod): method is Callable {
  return method.methodKind === 'unary' || method.methodKind === 'server_streaming';
}

const shownNames = 20;

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > shownNames ? ` and ${names.length - shownNames} more` : '';
  return names.slice(0, shownNames).join(', ') + more;
}

/** The method of a path. Throws ProtoProblem, also for one that takes a stream of requests. */
export function findMethod(path: string, registry: Names): Callable {
  const { service, name } = splitMethod(path);
  const methods = registry.getService(service)?.methods;
  if (methods === undefined) throw new ProtoProblem(`there is no service ${service}`);
  const method = methods.find((one) => one.name === name);
  if (method === undefined) {
    const names = methods.map((one) => one.name);
    throw new ProtoProblem(`${service} has no method ${name}; it has ${listed(names)}`);
  }
  if (!isCallable(method)) {
    throw new ProtoProblem(`${service}/${name} takes a stream of requests; one can be sent`);
  }
  return method;
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}

/** The message of a JSON text; an empty text is an empty message. Throws ProtoProblem. */
export async function messageFrom(
  text: string,
  type: DescMessage,
  registry: Registry,
): Promise<Message> {
  const { fromJsonString } = await import('@bufbuild/protobuf');
  try {
    return fromJsonString(type, text.trim() === '' ? '{}' : text, { registry });
  } catch (error) {
    const reason = error instanceof RangeError ? 'it is nested too deeply' : reasonOf(error);
    throw new ProtoProblem(reason, { cause: error });
  }
}

/** What is wrong with the call of a check, as far as it is known before its variables. */
export async function messageProblem({
  method = '',
  message = '',
  protoContent,
}: {
  method?: string | undefined;
  message?: string | undefined;
  protoContent?: string | undefined;
}): Promise<{ field: 'message' | 'method' | 'protoContent'; problem: string } | null> {
  const isWhole = !message.includes('{{');
  if (isWhole && message.trim() !== '') {
    try {
      JSON.parse(message);
    } catch (error) {
      return { field: 'message', problem: `must be JSON: ${reasonOf(error)}` };
    }
  }
  if (protoContent === undefined) return null;
  let field: 'message' | 'method' | 'protoContent' = 'protoContent';
  try {
    const registry = await readProtoFile(protoContent);
    field = 'method';
    const { input } = findMethod(method, registry);
    field = 'message';
    if (isWhole) await messageFrom(message, input, registry);
    return null;
  } catch (error) {
    if (!(error instanceof ProtoProblem)) throw error;
    return { field, problem: `cannot be used: ${error.message}` };
  }
}
