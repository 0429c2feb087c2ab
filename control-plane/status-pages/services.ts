import type { StatusPageDomains } from './status-page-domains.ts';

declare module '../core/services.ts' {
  interface Services {
    domains: StatusPageDomains;
  }
}
