/** Who may import whom. Each rule says why; `npm run boundaries` also fails when nothing was cruised. */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle means two files are one thing, or a third is missing.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'agent-and-control-plane-apart',
      comment:
        'They meet only in the wire contract; anything else would ship one inside the other.',
      severity: 'error',
      from: { path: '^agent/' },
      to: { path: '^control-plane/' },
    },
    {
      name: 'control-plane-and-agent-apart',
      comment: 'As above, the other way round.',
      severity: 'error',
      from: { path: '^control-plane/' },
      to: { path: '^agent/' },
    },
    {
      name: 'shared-is-pure',
      comment:
        'shared is loaded by both sides and must not be able to do anything; modes of files are set alike, ports opened alike, long work and long files end.',
      severity: 'error',
      from: {
        path: '^shared/',
        pathNot: '^shared/(private-files|open-server|read-at-most|time-limit)[.]ts$',
      },
      to: {
        pathNot: [
          '^shared/',
          '^node_modules/(zod|hpke|jsonpath-rfc9535|re2js|safe-stable-stringify|handlebars|moment|protobufjs|@bufbuild/protobuf)/',
        ],
      },
    },
    {
      name: 'decisions-are-pure',
      comment: 'Decisions take time and data as arguments, so a week of them runs in milliseconds.',
      severity: 'error',
      from: { path: '^control-plane/[^/]+/(decide|view)/' },
      to: {
        pathNot: [
          '^control-plane/[^/]+/(decide|view)/',
          '^shared/',
          '^node_modules/(zod|luxon|@types/luxon)/',
        ],
      },
    },
    {
      name: 'converters-are-pure',
      comment:
        'A converter turns texts and tables into a plan; the command reads files and calls the API.',
      severity: 'error',
      from: { path: '^control-plane/movers/' },
      to: {
        pathNot: [
          '^control-plane/movers/',
          '^control-plane/db/read-sqlite-file\\.ts$',
          // What both readers of YAML refuse.
          '^control-plane/core/decide/map-at\\.ts$',
          '^control-plane/core/yaml-problem\\.ts$',
          '^shared/',
          '^node_modules/(zod|yaml|csv-parse|@lezer/common|@prometheus-io/lezer-promql)/',
          // The hash of `hashmod`.
          '^crypto$',
        ],
      },
    },
    {
      name: 'modules-are-entered-by-their-index',
      comment:
        'What a capability offers others is one list. core, db, errors, http and observability are below all of them and have none.',
      severity: 'error',
      from: { path: '^control-plane/([^/]+)/' },
      to: {
        path: '^control-plane/[^/]+/',
        pathNot: [
          '^control-plane/$1/',
          '^control-plane/(core|db|errors|http|observability)/',
          '^control-plane/[^/]+/(index\\.ts$|decide/|view/)',
          '^control-plane/console/(build|fact-source|(form-)?facts|script-types-source)\\.ts$',
          '^control-plane/node_modules/',
        ],
      },
    },
    {
      name: 'a-runner-stands-alone',
      comment:
        'A runner knows its job and its context; what two runners share belongs in runners/scripts/, net/, script-host/, browsers/ or templates/.',
      severity: 'error',
      from: { path: '^agent/runners/(?!index\\.ts|runner\\.ts)([^/.]+)' },
      to: {
        path: '^agent/',
        pathNot: [
          '^agent/runners/runner\\.ts$',
          '^agent/runners/$1',
          '^agent/runners/scripts/',
          '^agent/(net|script-host|browsers|templates)/',
          '^agent/runtimes/installed-runtime\\.ts$',
          '^agent/errors\\.ts$',
        ],
      },
    },
    {
      name: 'express-at-the-edge',
      comment: 'Only http/, app/, sign-in/ and the pages for visitors know how requests arrive.',
      severity: 'error',
      from: { path: '^control-plane/', pathNot: '^control-plane/(http|app|sign-in|status-pages)/' },
      to: { path: '^node_modules/(@types/)?express/' },
    },
    {
      name: 'one-door-to-the-database',
      comment: 'A second dialect must be one folder, not a search through the tree.',
      severity: 'error',
      from: {
        pathNot:
          '^(control-plane/db/(open|postgres|read-sqlite-file)\\.ts|test/|scripts/|simulation/)',
      },
      to: { path: '^node_modules/(@types/)?(better-sqlite3|pg)/' },
    },
    {
      name: 'nobody-imports-compose',
      comment: 'Only the entry points wire a process.',
      severity: 'error',
      from: {
        path: '^(agent|control-plane)/',
        pathNot: '^(agent|control-plane)/(main\\.ts|commands/|app/commands/)',
      },
      to: { path: '^(agent|control-plane/app)/compose\\.ts$' },
    },
    {
      name: 'nobody-imports-tests',
      comment: 'Production code must not depend on what only tests install.',
      severity: 'error',
      from: { path: '^(agent|control-plane|shared)/' },
      to: { path: '^(test|scripts|simulation)/' },
    },
    {
      name: 'the-proof-knows-what-users-see',
      comment:
        'It comes with both packages and judges the programs from outside: processes, files and the public API.',
      severity: 'error',
      from: { path: '^proof/' },
      to: { path: '^(agent|control-plane|scripts|test)/' },
    },
    {
      name: 'only-its-command-runs-the-proof',
      comment:
        'A program that serves must not contain what kills it; finding the other program is harmless.',
      severity: 'error',
      from: {
        path: '^(agent|control-plane|shared)/',
        pathNot: '^(agent|control-plane/app)/commands/proof\\.ts$',
      },
      to: { path: '^proof/', pathNot: '^proof/find-program\\.ts$' },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that resolves to nothing fails at run time.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'the-console-stands-alone',
      comment:
        'It runs in browsers: packages, the encryption, the line of an error, types, and nothing of the server.',
      severity: 'error',
      from: {
        path: '^control-plane/console/',
        pathNot:
          '^control-plane/console/(build|contract|derive-script-types|(form-)?facts|form-words|script-types-source)\\.ts$',
      },
      to: {
        dependencyTypesNot: ['type-only'],
        pathNot: ['^control-plane/console/', '^node_modules/', '^shared/(encryption/|error-line)'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
