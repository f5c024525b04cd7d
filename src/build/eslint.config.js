// Lint rules of the whole project. Type-aware: they find floating promises and unsafe values.
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      'test/fixtures/**',
      'test/.out/**',
      '**/*.d.ts',
      'media/**',
      '**/*.mjs',
      'src/build/eslint.config.js',
    ],
  },
  tseslint.configs.strictTypeChecked,
  {
    // One program for all, with the types of Node and of a page: three would each check again what they share.
    languageOptions: { parserOptions: { project: './tsconfig.lint.json', tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Named exports only: a name that is the same everywhere can be found.',
        },
        { selector: 'ExportAllDeclaration', message: 'No barrel files: import from the file that has it.' },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/prefer-promise-reject-errors': 'off', // reasons of signals are passed on as they are
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/unified-signatures': 'off',
    },
  },
  {
    files: ['**/*.tsx'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' }, // a component gives what is drawn
  },
  {
    files: ['test/**/*.ts', 'test/**/*.tsx'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off', // readers of JSON name what they expect
      '@typescript-eslint/no-floating-promises': 'off', // node:test's describe() and it() give promises nobody awaits
    },
  },
);
