/** The table of check types, one line each. No logic. */
import { z } from 'zod';
import { agenticCheck } from './agentic.ts';
import { apiCheck } from './api.ts';
import { browserCheck } from './browser.ts';
import type { AgentCheckType, CheckTypeDefinition } from './check-type.ts';
import { dnsMonitor } from './dns.ts';
import { grpcMonitor } from './grpc.ts';
import { heartbeatMonitor } from './heartbeat.ts';
import { icmpMonitor } from './icmp.ts';
import { multiStepCheck } from './multi-step.ts';
import { playwrightCheck } from './playwright.ts';
import { sslMonitor } from './ssl.ts';
import { tcpMonitor } from './tcp.ts';
import { tracerouteMonitor } from './traceroute.ts';
import { urlMonitor } from './url.ts';

export const checkTypes = {
  URL: urlMonitor,
  TCP: tcpMonitor,
  DNS: dnsMonitor,
  ICMP: icmpMonitor,
  SSL: sslMonitor,
  TRACEROUTE: tracerouteMonitor,
  GRPC: grpcMonitor,
  HEARTBEAT: heartbeatMonitor,
  API: apiCheck,
  BROWSER: browserCheck,
  MULTI_STEP: multiStepCheck,
  PLAYWRIGHT: playwrightCheck,
  AGENTIC: agenticCheck,
} as const satisfies Record<string, CheckTypeDefinition>;

export type CheckType = keyof typeof checkTypes;

/** Spec: Analytics response, `checkType`. */
export const checkType = z
  .enum(Object.keys(checkTypes) as [CheckType, ...CheckType[]])
  .meta({ id: 'CheckType', description: 'Type of a check' });

/** The types that agents run. */
export type AgentType = {
  [Type in CheckType]: (typeof checkTypes)[Type] extends AgentCheckType<never> ? Type : never;
}[CheckType];

/** The request of a run of a type. */
export type RequestOf<Type extends AgentType> =
  (typeof checkTypes)[Type] extends AgentCheckType<infer Request> ? Request : never;

/** The definition of a type by its name; undefined for a type of another build. */
export function findCheckType(type: string): CheckTypeDefinition | undefined {
  return Object.hasOwn(checkTypes, type) ? checkTypes[type as CheckType] : undefined;
}

/** True for types whose results come from pings instead of runs. */
export function isPinged(type: string): boolean {
  return findCheckType(type)?.runsOn === 'control-plane';
}

/** The definition of a type that runs on agents; undefined for any other. */
export function findAgentType(type: string): AgentCheckType | undefined {
  const definition = findCheckType(type);
  return definition?.runsOn === 'agents' ? definition : undefined;
}
