/**
 * Differences of locked runtimes from the catalogue: one reviewed row for each package whose
 * version was not available when the lock was made. `runtime list` and `runtime verify` show them;
 * no package is substituted without a row.
 */
export interface Substitution {
  package: string;
  wanted: string;
  /** The installed version; null when the package is left out. */
  instead: string | null;
  reason: string;
}

const goneVersion = 'not in the registry that the lock was made from; the next later one is taken';
const gonePackage = 'no version of it was in the registry that the lock was made from';

/** A later one needs a later Playwright. */
const newestThen = 'the newest version when the runtime was made';

export const substitutions: Readonly<Record<string, readonly Substitution[]>> = {
  '2026.04': [
    { package: 'mailosaur', wanted: '11.0.2', instead: '11.1.0', reason: goneVersion },
    {
      package: 'nice-grpc-client-middleware-devtools',
      wanted: '1.0.9',
      instead: null,
      reason: gonePackage,
    },
    {
      package: 'nice-grpc-server-health',
      wanted: '2.0.17',
      instead: '2.0.19',
      reason: goneVersion,
    },
    {
      package: 'nice-grpc-server-middleware-terminator',
      wanted: '2.0.16',
      instead: null,
      reason: gonePackage,
    },
  ],
  '2025.04': [
    {
      package: 'nice-grpc-client-middleware-devtools',
      wanted: '1.0.7',
      instead: null,
      reason: gonePackage,
    },
    { package: 'nice-grpc-prometheus', wanted: '0.2.7', instead: '0.2.9', reason: goneVersion },
    {
      package: 'nice-grpc-server-health',
      wanted: '2.0.14',
      instead: '2.0.19',
      reason: goneVersion,
    },
    {
      package: 'nice-grpc-server-middleware-terminator',
      wanted: '2.0.14',
      instead: null,
      reason: gonePackage,
    },
  ],
  '2024.02': [
    { package: '@dvag/playwright-utils', wanted: 'latest', instead: null, reason: gonePackage },
    { package: 'allure-playwright', wanted: 'latest', instead: '2.12.0', reason: newestThen },
    {
      ...{ package: 'nice-grpc-client-middleware-devtools', wanted: '1.0.3', instead: null },
      reason: gonePackage,
    },
    {
      ...{ package: 'nice-grpc-opentelemetry', wanted: '0.1.14', instead: '0.1.15' },
      reason: goneVersion,
    },
    { package: 'nice-grpc-prometheus', wanted: '0.2.3', instead: '0.2.9', reason: goneVersion },
    {
      package: 'nice-grpc-server-health',
      wanted: '2.0.10',
      instead: '2.0.19',
      reason: goneVersion,
    },
    {
      ...{ package: 'nice-grpc-server-middleware-terminator', wanted: '2.0.10', instead: null },
      reason: gonePackage,
    },
  ],
  '2024.09': [
    { package: '@clerk/testing', wanted: '1.3.0', instead: '1.3.3', reason: goneVersion },
    {
      package: 'nice-grpc-client-middleware-devtools',
      wanted: '1.0.4',
      instead: null,
      reason: gonePackage,
    },
    {
      package: 'nice-grpc-server-health',
      wanted: '2.0.11',
      instead: '2.0.19',
      reason: goneVersion,
    },
    {
      package: 'nice-grpc-server-middleware-terminator',
      wanted: '2.0.11',
      instead: null,
      reason: gonePackage,
    },
  ],
};
