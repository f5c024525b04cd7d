import type { BUILTINS } from '../schema/toolEntry.ts';

/** The tools that each built-in brings. */
export const BUILTIN_TOOLS: Readonly<Record<(typeof BUILTINS)[number], readonly string[]>> = {
  terminal: ['execute_command'],
  code: ['run_code'],
  calculator: ['calculate'],
  files: ['read_file', 'write_file', 'edit_file', 'list_files', 'delete_file'],
};
