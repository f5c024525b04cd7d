import { withoutTexts } from '../../config/tools/toolSource.ts';

const DECLARATION = new RegExp(
  String.raw`^[ \t]*export\s+(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?` +
    String.raw`(?:function\s*\*?|class|const|let|var)\s+([A-Za-z_$][\w$]*)`,
  'gm',
);

/** Returns the exports of a module, or undefined if its text is insufficient (`export * from …`, CommonJS). */
export function exportsIn(source: string): string[] | undefined {
  const code = withoutTexts(source);
  if (/^[ \t]*export\s*\*/m.test(code) || /\b(module\.)?exports\b\s*[.=[]/.test(code)) return undefined;
  const names = [...code.matchAll(DECLARATION)].map((match) => match[1] ?? '');
  if (/^[ \t]*export\s+(?:const|let|var)\s*[[{]/m.test(code)) return undefined;
  for (const [, list = ''] of code.matchAll(/^[ \t]*export\s*\{([^}]*)\}/gm)) {
    for (const item of list.split(',')) {
      const [localName = '', exportedName] = item.trim().split(/\s+as\s+/);
      if (localName !== '' && !localName.startsWith('type ')) names.push(exportedName ?? localName);
    }
  }
  if (/^[ \t]*export\s+default\b/m.test(code)) names.push('default');
  return names;
}
