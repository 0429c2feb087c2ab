/**
 * The runtimes of scripts with the versions of their packages, newest first. They are facts of the
 * field: scripts name a runtime and rely on its packages.
 */
import type { Runtime } from './runtime.ts';

/** A line for each package: its versions, newest runtime first; `-` where a runtime does not have it. */
const packages = `
  @axe-core/playwright                       4.11.1   4.10.1   4.10.0   4.8.5    -        -        -
  @azure/identity                            4.13.0   4.9.1    4.4.1    4.3.0    -        -        -
  @azure/keyvault-secrets                    4.10.0   4.9.0    4.8.0    4.8.0    -        -        -
  @clerk/testing                             1.14.2   1.5.1    1.3.0    -        -        -        -
  @dvag/playwright-utils                     -        -        -        latest   -        -        -
  @faker-js/faker                            10.3.0   9.7.0    9.0.1    8.4.1    8.0.2    7.6.0    5.5.3
  @google-cloud/local-auth                   3.0.1    3.0.1    3.0.1    3.0.1    3.0.0    2.1.1    -
  @kubernetes/client-node                    1.4.0    1.1.2    0.22.3   -        -        -        -
  @opentelemetry/api                         1.9.0    1.9.0    1.9.0    1.7.0    1.4.1    1.0.4    1.0.4
  @opentelemetry/exporter-metrics-otlp-grpc  0.212.0  0.200.0  0.53.0   0.48.0   -        -        -
  @opentelemetry/sdk-metrics                 2.5.1    2.0.0    1.26.0   1.22.0   -        -        -
  @opentelemetry/sdk-trace-base              2.5.1    2.0.0    1.26.0   1.22.0   1.15.2   1.0.1    1.0.1
  @playwright/test                           1.58.2   1.51.1   1.48.2   1.42.1   1.38.1   1.32.3   1.28.0
  @t3-oss/env-nextjs                         0.7.3    0.13.0   0.11.1   0.9.2    0.6.1    -        -
  @xmldom/xmldom                             0.9.8    0.9.8    0.9.2    0.8.10   0.8.10   0.8.10   -
  allure-playwright                          -        -        -        latest   -        -        -
  aws4                                       1.13.2   1.13.2   1.13.2   1.12.0   1.12.0   1.11.0   1.11.0
  axios                                      1.13.5   0.28.0   0.28.0   0.28.0   0.27.2   0.27.2   0.27.2
  axios-cookiejar-support                    5.0.5    -        -        -        -        -        -
  btoa                                       -        1.2.1    1.2.1    1.2.1    1.2.1    1.2.1    1.2.1
  chai                                       -        -        -        4.4.1    4.3.7    4.3.7    4.3.7
  chai-json-schema                           -        -        -        1.5.1    -        -        -
  chai-string                                -        -        -        1.5.0    1.5.0    1.5.0    1.5.0
  crypto-js                                  4.2.0    4.2.0    4.2.0    4.2.0    4.1.1    4.1.1    4.1.1
  csv-parse                                  6.1.0    -        -        -        -        -        -
  date-fns                                   4.1.0    4.1.0    3.3.1    3.3.1    2.30.0   2.29.3   -
  date-fns-tz                                3.2.0    3.2.0    3.1.3    3.1.3    2.0.0    2.0.0    -
  dotenv                                     17.3.1   16.5.0   16.4.5   16.4.5   16.3.1   -        -
  ethers                                     6.16.0   6.13.5   6.13.2   6.11.1   6.7.1    -        -
  expect                                     30.2.0   29.7.0   29.7.0   29.7.0   29.6.2   29.3.1   29.3.1
  form-data                                  4.0.5    4.0.4    4.0.4    4.0.0    4.0.0    4.0.0    4.0.0
  gaxios                                     7.1.3    6.7.1    6.7.1    -        -        -        -
  gmail-api-parse-message-ts                 2.2.33   2.2.33   2.2.33   2.2.32   2.2.32   2.2.32   -
  google-auth-library                        10.6.1   9.15.1   9.14.1   9.6.3    9.0.0    8.8.0    -
  googleapis                                 171.4.0  148.0.0  144.0.0  133.0.0  126.0.0  118.0.0  -
  graphql                                    16.13.0  16.10.0  16.9.0   16.9.0   -        -        -
  graphql-tag                                2.12.6   2.12.6   2.12.6   2.12.6   -        -        -
  http                                       24.13.1  22.11.0  18.20.3  18.20.3  18.20.3  16.20.2  16.20.2
  https                                      24.13.1  22.11.0  18.20.3  18.20.3  18.20.3  16.20.2  16.20.2
  imapflow                                   1.2.10   -        -        -        -        -        -
  jose                                       6.1.3    5.10.0   5.9.2    5.2.2    4.14.4   4.14.1   -
  jsdom                                      -        26.1.0   25.0.0   24.0.0   22.1.0   21.1.2   -
  jsonwebtoken                               9.0.3    9.0.2    9.0.2    9.0.2    9.0.1    9.0.0    8.5.1
  lodash                                     4.17.23  4.17.21  4.17.21  4.17.21  4.17.21  4.17.21  4.17.21
  long                                       5.3.2    5.3.2    5.2.3    5.2.3    -        -        -
  mailosaur                                  11.0.2   8.8.1    8.6.1    -        -        -        -
  mocha                                      -        -        -        -        -        -        10.1.0
  moment                                     2.30.1   2.30.1   2.30.1   2.30.1   2.29.4   2.29.4   2.29.4
  mysql                                      2.18.1   2.18.1   2.18.1   -        -        -        -
  mysql2                                     3.18.2   -        -        -        -        -        -
  nice-grpc                                  2.1.14   2.1.12   2.1.9    2.1.8    -        -        -
  nice-grpc-client-middleware-deadline       2.0.17   2.0.15   2.0.12   2.0.11   -        -        -
  nice-grpc-client-middleware-devtools       1.0.9    1.0.7    1.0.4    1.0.3    -        -        -
  nice-grpc-client-middleware-retry          3.1.13   3.1.11   3.1.8    3.1.7    -        -        -
  nice-grpc-common                           2.0.2    2.0.2    2.0.2    2.0.2    -        -        -
  nice-grpc-error-details                    0.2.12   0.2.9    0.2.6    0.2.5    -        -        -
  nice-grpc-opentelemetry                    0.1.20   0.1.18   0.1.15   0.1.14   -        -        -
  nice-grpc-prometheus                       0.2.9    0.2.7    0.2.4    0.2.3    -        -        -
  nice-grpc-server-health                    2.0.17   2.0.14   2.0.11   2.0.10   -        -        -
  nice-grpc-server-middleware-terminator     2.0.16   2.0.14   2.0.11   2.0.10   -        -        -
  nice-grpc-server-reflection                3.0.3    2.0.14   2.0.11   2.0.10   -        -        -
  nice-grpc-web                              3.3.9    3.3.7    3.3.4    3.3.3    -        -        -
  node-pop3                                  0.11.0   0.9.1    -        -        -        -        -
  otpauth                                    9.5.0    9.4.0    9.3.2    9.2.2    9.1.4    9.0.2    9.0.2
  pdf-parse                                  1.1.1    -        -        -        -        -        -
  pdf2json                                   4.0.2    3.1.4    3.1.4    3.0.5    -        -        -
  playwright                                 1.58.2   1.51.1   1.48.2   1.42.1   1.38.1   1.32.3   1.28.0
  prisma                                     7.4.1    6.6.0    5.19.1   5.10.2   5.1.1    -        -
  protobufjs                                 8.0.0    7.5.0    7.4.0    7.2.6    -        -        -
  protobufjs/light                           -        -        -        7.2.6    -        -        -
  protobufjs/minimal                         -        -        -        7.2.6    -        -        -
  tedious                                    19.2.1   18.6.1   18.6.1   18.2.0   -        -        -
  tough-cookie                               6.0.0    -        -        -        -        -        -
  twilio                                     5.12.2   5.3.0    5.3.0    4.23.0   4.15.0   4.11.1   -
  typescript                                 -        -        -        -        -        4.8.4    4.8.4
  uuid                                       11.1.0   11.1.0   10.0.0   9.0.1    9.0.0    9.0.0    9.0.0
  winston                                    3.19.0   -        -        -        -        -        -
  ws                                         8.19.0   8.18.1   8.18.0   8.16.0   8.13.0   8.13.0   -
  xml-crypto                                 6.1.2    6.1.1    4.0.1    4.0.1    4.1.0    4.0.1    -
  xml-encryption                             3.1.0    3.1.0    3.0.2    3.0.2    3.0.2    3.0.2    -
  zod                                        3.24.3   3.24.3   3.23.8   3.22.4   3.22.2   -        -
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/));

/** In the order of the columns. */
const releases = [
  { name: '2026.04', node: '24.13.1', stage: 'CURRENT', multiStepSupport: true },
  { name: '2025.04', node: '22.11.0', stage: 'STABLE', multiStepSupport: true },
  { name: '2024.09', node: '18.20.3', stage: 'STABLE', multiStepSupport: true },
  { name: '2024.02', node: '18.20.3', stage: 'STABLE', multiStepSupport: true },
  { name: '2023.09', node: '18.20.3', stage: 'STABLE', multiStepSupport: true },
  { name: '2023.02', node: '16.20.2', stage: 'STABLE', multiStepSupport: false },
  { name: '2022.10', node: '16.20.2', stage: 'STABLE', multiStepSupport: false },
] as const;

export const runtimes: readonly Runtime[] = releases.map(
  ({ name, node, stage, multiStepSupport }, column) => {
    const dependencies = Object.fromEntries(
      packages.flatMap(([packageName = '', ...versions]) => {
        const version = versions[column];
        return version === undefined || version === '-' ? [] : [[packageName, version]];
      }),
    );
    const description = `Playwright ${dependencies['playwright']} on Node.js ${node}`;
    return {
      ...{ name, multiStepSupport, nodeJsVersion: `v${node}`, stage, description },
      dependencies,
    };
  },
);
