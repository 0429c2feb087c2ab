/** Handlers of routes: what one takes and gives, and which route it belongs to. */
import type { Route, RouteInput, RouteOutput } from '@monitor/shared/contract/route.ts';
import type { Principal } from './authenticate.ts';
import type { CallContext } from './call-context.ts';

type PrincipalOf<R extends Route> = Extract<Principal, { kind: R['authentication'] }>;

export type Handler<R extends Route> = (
  input: RouteInput<R>,
  context: CallContext<PrincipalOf<R>>,
) => Promise<RouteOutput<R>>;

/** One handler per declared route; a missing one does not compile. */
export type Handlers<Routes extends Record<string, Route>> = {
  [Name in keyof Routes]: Handler<Routes[Name]>;
};

export interface BoundRoute {
  route: Route;
  handle: (input: never, context: never) => Promise<unknown>;
}

/** Pairs routes with their handlers. */
export function bind<Routes extends Record<string, Route>>(
  routes: Routes,
  handlers: Handlers<Routes>,
): BoundRoute[] {
  return Object.entries(routes).map(([name, route]) => ({
    route,
    handle: handlers[name as keyof Routes] as BoundRoute['handle'],
  }));
}
