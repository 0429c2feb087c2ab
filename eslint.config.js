import tseslint from 'typescript-eslint';

const builtInsWithoutPrefix = [
  'assert',
  'buffer',
  'child_process',
  'crypto',
  'dgram',
  'dns',
  'events',
  'fs',
  'http',
  'https',
  'net',
  'os',
  'path',
  'stream',
  'tls',
  'url',
  'util',
  'zlib',
].map((name) => ({
  name,
  message: 'Write the node: prefix, so that a package can never stand in for a built-in.',
}));

export default [
  { ignores: ['node_modules/', '**/*.js', '**/*.cjs', 'test/fixtures/'] },
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            {
              from: 'package',
              name: ['test', 'describe', 'it', 'suite', 'before', 'after'],
              package: 'node:test',
            },
          ],
        },
      ],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-imports': ['error', { paths: builtInsWithoutPrefix }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Named exports only: a thing has one name everywhere.',
        },
        {
          selector:
            "CallExpression[callee.property.name=/^executeTakeFirst/]:has(MemberExpression[property.name='orderBy']):not(:has(MemberExpression[property.name='limit']))",
          message: 'It reads all rows and gives the first one: add limit(1).',
        },
      ],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'One file reads the environment; take the value as an argument.',
        },
      ],
      'no-console': 'error',
      'prefer-const': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    files: [
      'agent/commands/**',
      'control-plane/app/commands/**',
      'proof/**',
      'simulation/**',
      'scripts/**',
      'test/**',
    ],
    rules: { 'no-console': 'off' },
  },
  {
    files: [
      'agent/guard-process.ts',
      'control-plane/core/environment.ts',
      'proof/**',
      'simulation/**',
      'scripts/**',
      'test/**',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
];
