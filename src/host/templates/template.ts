/** Defines the files and names of new agents, tools, worlds, and batches. Does not depend on VS Code. */
import { RESERVED_WORDS } from '../../common/reservedWords.ts';

export type TemplateKind = 'agent' | 'tool' | 'pythonTool' | 'world' | 'codeWorld' | 'batch';

export interface TemplateFile {
  /** Path relative to the workspace folder. */
  readonly path: string;
  /** File in media/templates. */
  readonly template: string;
}

interface TemplateSet {
  /** The file to open. It must not exist. */
  readonly main: TemplateFile;
  /** Referenced files. Existing ones are not changed. */
  readonly references: readonly TemplateFile[];
}

export function templateSet(kind: TemplateKind, name: string): TemplateSet {
  switch (kind) {
    case 'agent':
      return {
        main: { path: `agents/${name}.agent.yaml`, template: 'agent.yaml' },
        references: [{ path: `prompts/${name}.md`, template: 'prompt.md' }],
      };
    case 'tool':
      return { main: { path: `tools/${name}.ts`, template: 'tool.ts.txt' }, references: [] };
    case 'pythonTool':
      return { main: { path: `tools/${name}.py`, template: 'tool.py.txt' }, references: [] };
    case 'world':
      return {
        main: { path: `worlds/${name}.world.yaml`, template: 'world.yaml' },
        references: [{ path: `worlds/${name}.ts`, template: 'world.ts.txt' }],
      };
    case 'codeWorld':
      return { main: { path: `worlds/${name}.world.yaml`, template: 'codeWorld.yaml' }, references: [] };
    case 'batch':
      return {
        main: { path: `batches/${name}.batch.yaml`, template: 'batch.yaml' },
        references: [{ path: `data/${name}.jsonl`, template: 'tasks.jsonl' }],
      };
  }
}

/** Reserved words in JavaScript, and names in the template. */
const RESERVED = new Set([...RESERVED_WORDS, 'tool', 'z']);
/** Reserved words in Python, and names in the template. */
const RESERVED_IN_PYTHON = new Set([
  'False',
  'None',
  'True',
  'and',
  'as',
  'assert',
  'async',
  'await',
  'break',
  'class',
  'continue',
  'def',
  'del',
  'elif',
  'else',
  'except',
  'finally',
  'for',
  'from',
  'global',
  'if',
  'import',
  'in',
  'is',
  'lambda',
  'nonlocal',
  'not',
  'or',
  'pass',
  'raise',
  'return',
  'try',
  'while',
  'with',
  'yield',
  'tool',
  'call_tool',
  'error_result',
  'handle',
  'main',
  'json',
  'sys',
  'traceback',
  'TOOLS',
  'dict',
  'isinstance',
  'list',
  'str',
  'type',
  'print',
  'len',
]);
const MAX_NAME_LENGTH = 64;

/** Returns the error of a name, or undefined if it is valid. */
export function nameProblem(kind: TemplateKind, name: string): string | undefined {
  if (name === '') return 'Enter a name.';
  if (name.length > MAX_NAME_LENGTH) return `Use at most ${MAX_NAME_LENGTH} characters.`;
  if (kind === 'tool' || kind === 'pythonTool') {
    if (!/^[A-Za-z_]\w*$/.test(name)) return 'Use letters, digits, and _, for example count_words.';
    const python = kind === 'pythonTool';
    return (python ? RESERVED_IN_PYTHON : RESERVED).has(name)
      ? `${name} is a reserved word in ${python ? 'Python' : 'TypeScript'}.`
      : undefined;
  }
  return /^[A-Za-z0-9][\w-]*$/.test(name) ? undefined : 'Use letters, digits, -, and _, for example my-agent.';
}

export interface FilledTemplate {
  readonly text: string;
  /** Cursor position, zero-based. */
  readonly cursor: { readonly line: number; readonly column: number };
}

/** Replaces placeholders such as `__NAME__`, and removes the cursor mark. */
export function fill(template: string, values: Readonly<Record<string, string>>): FilledTemplate {
  const marked = template.replaceAll(/__([A-Z]+)__/g, (whole, key: string) => values[key] ?? whole);
  const at = Math.max(0, marked.indexOf(CURSOR_MARK));
  const before = marked.slice(0, at);
  return {
    text: marked.replace(CURSOR_MARK, ''),
    cursor: { line: before.split('\n').length - 1, column: at - (before.lastIndexOf('\n') + 1) },
  };
}

const CURSOR_MARK = '__HERE__';
