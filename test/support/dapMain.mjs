// `rollout dap` for clients that start a script without arguments.
process.argv.splice(2, 0, 'dap', '--stdio');
await import('../../dist/cli.mjs');
