/** The beginnings of files that are made. */
import { fileKind } from '../../../common/fileKinds.ts';
import { basename } from '../../../config/paths.ts';

export function promptText(): string {
  return 'You solve the task that you are given, and then answer.\n';
}

/** `by`: the file that names the module. */
export function moduleText(by: string, module: string): string {
  switch (fileKind(by)) {
    case 'world':
      return (
        "import type { OpenWorld } from 'rollout-studio';\n\nexport const open: OpenWorld = () => ({\n  state: " +
        '{},\n  tools: {},\n});\n'
      );
    case 'batch':
      return (
        "import type { Score } from 'rollout-studio';\n\nexport const score: Score = ({ task, answer }) => {\n  " +
        'const passed = answer === task.answer;\n  return { value: passed ? 1 : 0, passed };\n};\n'
      );
    default:
      return `${importText('tool', 'rollout-studio')}${importText('z', 'zod')}\n${toolText(nameOf(module))}`;
  }
}

export function importText(name: string, from: string): string {
  return `import { ${name} } from '${from}';\n`;
}

export function toolText(name: string): string {
  return [
    `export const ${name} = tool({`,
    "  description: 'What it does, as the model is told.',",
    "  input: z.object({ text: z.string().describe('What it is about.') }),",
    "  effect: 'pure',",
    '  run: ({ text }) => text,',
    '});',
    '',
  ].join('\n');
}

function nameOf(module: string): string {
  const name = basename(module)
    .replace(/\.\w+$/, '')
    .replaceAll(/[^A-Za-z0-9_]/g, '_');
  return /^[A-Za-z_]/.test(name) ? name : `tool_${name}`;
}
