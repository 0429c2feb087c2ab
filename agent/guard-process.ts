/** Keeps the secrets of this process from other processes of its user, and from those that it starts. */
import { refuseDebugger } from '@monitor/shared/private-files.ts';
import { ifPossible, openLibc, type OpenedLibc } from './native/libc.ts';
import {
  guardFromOwnUser,
  keepDescriptorsFromChildren,
  takeFromEnvironment,
} from './native/process.ts';

/** The settings whose values are secrets. */
export const secretSettings = {
  API_KEY: true,
  LLM_API_KEY: true,
  OTEL_EXPORTER_OTLP_HEADERS: true,
  HTTPS_PROXY: true,
  HTTP_PROXY: true,
  ALL_PROXY: true,
  RESULT_ENCRYPTION_KEYS: true,
} as const;

/** The variables that hold secrets themselves, in every spelling. */
export const secretVariables: readonly string[] = Object.keys(secretSettings).flatMap((name) =>
  name.endsWith('_PROXY') ? [name, name.toLowerCase()] : [name],
);

/** The environment that this process was given, secrets included. */
export const processEnvironment: Readonly<Record<string, string | undefined>> = { ...process.env };

/**
 * To be called before anything else: afterwards the kernel shows the memory, the environment and the
 * descriptors of this process to root alone, without its secrets, and no child inherits these. Where no
 * system calls can be made, the kernel goes on showing them; `doctor` says so.
 */
export function guardProcess({ libc }: OpenedLibc = openLibc()): void {
  takeFromEnvironment(libc, secretVariables, process.env);
  if (libc !== null) {
    ifPossible(() => guardFromOwnUser(libc));
  }
  refuseDebugger();
}

/** Keeps descriptors that this process was started with from its children. Only after a relaunch: it would lose them. */
export function guardDescriptors({ libc }: OpenedLibc = openLibc()): void {
  if (libc === null) return;
  ifPossible(() => keepDescriptorsFromChildren(libc));
}
