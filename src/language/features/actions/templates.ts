/** Initial contents of created files. */
import { fileKind } from '../../../common/fileKinds.ts';
import { basename } from '../../../config/paths.ts';

export function promptText(): string {
  return 'Solve the given task, then answer.\n';
}

/** @param by Kind of the file that references the module. */
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
    "  description: 'Describe for the model what the tool does.',",
    "  input: z.object({ text: z.string().describe('Describe the argument.') }),",
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
