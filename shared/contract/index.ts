/** Every operation there is: what OpenAPI, the router and the conformance tests walk. */
import { agentRoutes } from './agent-protocol.ts';
import { checkResultRoutes } from './check-result.ts';
import { checkRoutes, checkTypeRoutes, heartbeatRoutes } from './check-routes.ts';
import { checkStatusRoutes } from './check-status.ts';
import { locationRoutes, privateLocationRoutes } from './private-location.ts';
import type { Route } from './route.ts';

export const allRoutes: readonly Route[] = [
  ...checkTypeRoutes.flatMap(({ create, update }) => [create, update] as Route[]),
  ...Object.values(checkRoutes),
  ...Object.values(heartbeatRoutes),
  ...Object.values(checkResultRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(privateLocationRoutes),
  ...Object.values(locationRoutes),
  ...Object.values(agentRoutes),
] as Route[];
