/** All environments in which `doctor` is tried. */
import type { Environment } from './environment.ts';
import { keyEnvironments } from './key-environments.ts';
import { machineEnvironments } from './machine-environments.ts';
import { networkEnvironments } from './network-environments.ts';
import { proxyEnvironments } from './proxy-environments.ts';
import { tlsEnvironments } from './tls-environments.ts';

export const environments: Readonly<Record<string, readonly Environment[]>> = {
  'The machine': machineEnvironments,
  'The network and the control plane': networkEnvironments,
  Proxies: proxyEnvironments,
  'TLS and clocks': tlsEnvironments,
  'Keys and settings': keyEnvironments,
};
