/** The minimal workbook that Excel accepts, without sheets. */

import type { Parts } from '../office/archive.ts';
import { XML_HEAD } from '../office/xml.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export const WORKSHEET_RELATION = `${OFFICE}/worksheet`;
export const SHEET_TYPE = `${TYPE}.worksheet+xml`;
export const SHEET = `${XML_HEAD}<worksheet xmlns="${MAIN}"><sheetData/></worksheet>`;

const STYLES =
  `<styleSheet xmlns="${MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill ' +
  'patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs></styleSheet>';

export function emptyWorkbook(): Parts {
  const texts: Readonly<Record<string, string>> = {
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ' +
      'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ' +
      `ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ` +
      `ContentType="${TYPE}.styles+xml"/></Types>`,
    '_rels/.rels':
      `<Relationships xmlns="${RELATIONS}"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" ` +
      'Target="xl/workbook.xml"/></Relationships>',
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets/><calcPr calcId="191029"/></workbook>`,
    'xl/_rels/workbook.xml.rels':
      `<Relationships xmlns="${RELATIONS}"><Relationship Id="rIdStyles" Type="${OFFICE}/styles" ` +
      'Target="styles.xml"/></Relationships>',
    'xl/styles.xml': STYLES,
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, new TextEncoder().encode(XML_HEAD + text)]),
  );
}
