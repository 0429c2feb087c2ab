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

const later = (name: string, wanted: string, instead: string, reason = goneVersion) => ({
  package: name,
  wanted,
  instead,
  reason,
});
const leftOut = (name: string, wanted: string) => ({
  package: name,
  wanted,
  instead: null,
  reason: gonePackage,
});

export const substitutions: Readonly<Record<string, readonly Substitution[]>> = {
  '2026.04': [
    later('mailosaur', '11.0.2', '11.1.0'),
    leftOut('nice-grpc-client-middleware-devtools', '1.0.9'),
    later('nice-grpc-server-health', '2.0.17', '2.0.19'),
    leftOut('nice-grpc-server-middleware-terminator', '2.0.16'),
  ],
  '2025.04': [
    leftOut('nice-grpc-client-middleware-devtools', '1.0.7'),
    later('nice-grpc-prometheus', '0.2.7', '0.2.9'),
    later('nice-grpc-server-health', '2.0.14', '2.0.19'),
    leftOut('nice-grpc-server-middleware-terminator', '2.0.14'),
  ],
  '2024.02': [
    leftOut('@dvag/playwright-utils', 'latest'),
    later('allure-playwright', 'latest', '2.12.0', newestThen),
    leftOut('nice-grpc-client-middleware-devtools', '1.0.3'),
    later('nice-grpc-opentelemetry', '0.1.14', '0.1.15'),
    later('nice-grpc-prometheus', '0.2.3', '0.2.9'),
    later('nice-grpc-server-health', '2.0.10', '2.0.19'),
    leftOut('nice-grpc-server-middleware-terminator', '2.0.10'),
  ],
  '2024.09': [
    later('@clerk/testing', '1.3.0', '1.3.3'),
    leftOut('nice-grpc-client-middleware-devtools', '1.0.4'),
    later('nice-grpc-server-health', '2.0.11', '2.0.19'),
    leftOut('nice-grpc-server-middleware-terminator', '2.0.11'),
  ],
};
