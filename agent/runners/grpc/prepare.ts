/** From a gRPC check to what is called: its templates, its types and its message. */
import type { FileRegistry } from '@bufbuild/protobuf';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import {
  authorityPattern,
  metadataProblem,
  type GrpcConfig,
  type GrpcRequest,
} from '@monitor/shared/contract/checks/grpc.ts';
import { ProtoProblem, readProtoFile } from '@monitor/shared/grpc/proto-file.ts';
import { findMethod, messageFrom } from '@monitor/shared/grpc/called-method.ts';
import { inText } from '@monitor/shared/templates/places.ts';
import type { MetadataEntry } from '../../net/grpc/call.ts';
import { shownHeaders } from '../../net/http/headers.ts';
import { storedText } from '../../net/http/response-body.ts';
import { runVariables } from '../../script-host/run-variables.ts';
import { complete, type Completion } from '../../templates/complete.ts';
import { templateValues, variablesOf } from '../../templates/run-values.ts';
import type { RunnerContext } from '../runner.ts';
import { healthTypes } from './protocols.ts';

const invalidArgument = 3;

/** The request with its variables. */
export interface Prepared {
  host: string;
  port: number;
  /** `:authority`, whose host is the server name too. */
  authority: string;
  metadata: MetadataEntry[];
  /** `package.Service/Method`. */
  method: string;
  message: string;
}

/** What can be called. */
export interface Callable {
  method: ReturnType<typeof findMethod>;
  registry: FileRegistry;
  message: Uint8Array;
}

/** The call is useless because of the check or of what the server says about its types. */
export class CallProblem extends Error {
  readonly failure: Failure;
  readonly status: number;

  constructor(status: number, failure: Failure) {
    super(failure.message);
    this.failure = failure;
    this.status = status;
  }
}

function unusable(code: string, message: string): CallProblem {
  return new CallProblem(invalidArgument, {
    ...{ phase: 'template', code, message: `${message} (${code})`, isNetworkError: false },
  });
}

export function prepare(request: GrpcRequest, context: RunnerContext): Prepared {
  const { grpcConfig: config } = request;
  const warned = new Set<string>();
  const variables = variablesOf(context.environment, runVariables(context.run, context.runtimeId));
  const to: Completion = {
    values: templateValues(variables, context.clock),
    warn(message) {
      if (!warned.has(message)) context.log(message, 'WARN');
      warned.add(message);
    },
  };
  const text = (field: string, template: string) => complete(field, template, inText, to);
  const host = text('the host', request.url).replace(/^\[|\]$/g, '');
  if (host === '' || /[\s/]/.test(host)) {
    throw unusable(
      'INVALID_HOST',
      `the host "${host.slice(0, 100)}" is not a host name or address`,
    );
  }
  const port = Number(text('the port', String(request.port)));
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw unusable('INVALID_PORT', 'the port is not a number from 1 to 65535');
  }
  const given = text('the authority', config.authority ?? '');
  if (given !== '' && !authorityPattern.test(given)) {
    throw unusable('INVALID_AUTHORITY', 'the authority is not a host, or a host and a port');
  }
  const authority = given || `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const metadata = config.metadata.map(({ key, value }) => {
    const entry = { key, value: text(`the metadata "${key}"`, value) };
    const problem = metadataProblem(key, entry.value);
    if (problem !== null) throw unusable('INVALID_METADATA', `the metadata ${problem}`);
    return entry;
  });
  if (config.mode === 'HEALTH') {
    const service = text('the service', config.service ?? '');
    const message = JSON.stringify({ service });
    return { host, port, authority, metadata, method: 'grpc.health.v1.Health/Check', message };
  }
  const { method = '', message = '' } = config;
  return {
    ...{ host, port, authority, metadata, method: method.replace(/^\//, '') },
    message: text('the message', message),
  };
}

export async function callable(
  registry: FileRegistry,
  { method, message }: Prepared,
): Promise<Callable> {
  const { toBinary } = await import('@bufbuild/protobuf');
  let part = 'the method';
  try {
    const found = findMethod(method, registry);
    part = 'the message';
    const sent = await messageFrom(message, found.input, registry);
    return { method: found, registry, message: toBinary(found.input, sent) };
  } catch (error) {
    if (!(error instanceof ProtoProblem)) throw error;
    throw unusable('INVALID_CALL', `${part} cannot be used: ${error.message}`);
  }
}

/** What is known before the connection; null where the server is asked. */
export async function knownTypes(config: GrpcConfig): Promise<FileRegistry | null> {
  if (config.mode === 'HEALTH') return healthTypes();
  if (config.protoContent === undefined) return null;
  try {
    return await readProtoFile(config.protoContent);
  } catch (error) {
    if (!(error instanceof ProtoProblem)) throw error;
    throw unusable('INVALID_PROTO', `protoContent cannot be used: ${error.message}`);
  }
}

/** The request as results show it. */
export function shownRequest(
  request: GrpcRequest,
  prepared: Prepared | null,
  context: RunnerContext,
) {
  const { url, port, ipFamily, timeout, skipSSL, grpcConfig: config } = request;
  const { mode, tls, metadata } = config;
  const message = prepared?.message ?? config.message ?? '';
  const secrets = secretsOf(context);
  return {
    ...{ url: prepared?.host ?? url, port: prepared?.port ?? port, ipFamily, timeout, skipSSL },
    grpcConfig: {
      ...{
        mode,
        tls,
        ...(config.authority ? { authority: prepared?.authority ?? config.authority } : {}),
      },
      ...(mode === 'HEALTH'
        ? { service: config.service }
        : { method: config.method, serviceDefinition: config.serviceDefinition }),
      metadata: (prepared?.metadata ?? metadata).map(({ key, value }) => ({
        key,
        value: shownHeaders({ [key]: value })[key] ?? '',
      })),
      message: storedText(message, secrets).stored,
    },
  };
}

export function secretsOf({ environment }: RunnerContext): string[] {
  return environment.filter(({ secret }) => secret).map(({ value }) => value);
}

export const isFailure = (value: object): value is Failure => 'isNetworkError' in value;
