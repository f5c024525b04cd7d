/** A folder of pages in the form that the build produces, but small. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Content that breaks an inline element unless it is escaped. */
export const SCRIPT = "console.log('page </script><!-- ' + 1 < 2);\r\n//# sourceMappingURL=page.js.map\n";
export const STYLE =
  '@font-face{font-family:codicon;src:url("./codicon.ttf?0abc") ' +
  'format("truetype")}.a:before{content:"</style>"}\n/*# sourceMappingURL=page.css.map */\n';
export const FONT = Buffer.from([0, 1, 0, 0, 255]);

/** A part of the program that `start.js` loads. */
export const PART = 'show-A1B2C3D4.js';

/** Creates `pages` below a folder and returns its path. `font`: a file. */
export function pagesFolder(below: string, files: { style?: string; font?: string } = {}): string {
  const folder = path.join(below, 'pages');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'page.js'), SCRIPT);
  writeFileSync(path.join(folder, 'start.js'), SCRIPT);
  writeFileSync(path.join(folder, PART), SCRIPT);
  writeFileSync(path.join(folder, 'page.css'), files.style ?? STYLE);
  writeFileSync(path.join(folder, 'codicon.ttf'), files.font === undefined ? FONT : readFileSync(files.font));
  writeFileSync(path.join(folder, 'page.js.map'), '{}');
  return folder;
}
