/** The rules that are selectors. The other linter has all others. */
import tseslint from 'typescript-eslint';

export default [
  {
    files: ['control-plane/**/*.ts'],
    ignores: ['control-plane/console/'],
    languageOptions: { parser: tseslint.parser },
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            "CallExpression[callee.property.name=/^executeTakeFirst/]:has(MemberExpression[property.name='orderBy']):not(:has(MemberExpression[property.name='limit']))",
          message: 'It reads all rows and gives the first one: add limit(1).',
        },
      ],
    },
  },
];
