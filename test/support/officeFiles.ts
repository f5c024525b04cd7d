/** Small documents of every kind, as common programs write them. */
import { strToU8, zipSync } from 'fflate';

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export function zipOf(parts: Readonly<Record<string, string>>): Uint8Array {
  return zipSync(
    Object.fromEntries(
      Object.entries(parts).map(([name, text]) => [name, strToU8(text.startsWith('<') ? `${HEAD}${text}` : text)]),
    ),
  );
}

function rels(...targets: readonly (readonly [id: string, type: string, target: string])[]): string {
  return (
    '<Relationships ' +
    `xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${targets
      .map(([id, type, target]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`)
      .join('')}</Relationships>`
  );
}

/**
 * A workbook whose formulas have no cached values, as libraries write them: shared strings with rich text, a date, a
 * shared formula, a sheet name with a space, and an unknown part. `others` replaces parts.
 */
export function workbookFile(others: Readonly<Record<string, string>> = {}): Uint8Array {
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  return zipOf({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ' +
      'ContentType="application/xml"/><Override PartName="/xl/calcChain.xml" ContentType="x"/></Types>',
    '_rels/.rels': rels(['rId1', 'officeDocument', 'xl/workbook.xml']),
    'xl/workbook.xml':
      `<workbook ${main} xmlns:r="${OFFICE}"><sheets><sheet name="Sales" sheetId="1" r:id="rId1"/><sheet name="By ` +
      `month" sheetId="2" r:id="rId2"/></sheets><definedNames><definedName name="Tax">'By ` +
      `month'!$B$1</definedName></definedNames></workbook>`,
    'xl/_rels/workbook.xml.rels': rels(
      ['rId1', 'worksheet', 'worksheets/sheet1.xml'],
      ['rId2', 'worksheet', '/xl/worksheets/sheet2.xml'],
      ['rId3', 'sharedStrings', 'sharedStrings.xml'],
      ['rId4', 'styles', 'styles.xml'],
      ['rId5', 'calcChain', 'calcChain.xml'],
    ),
    'xl/calcChain.xml': `<calcChain ${main}/>`,
    'xl/sharedStrings.xml':
      `<sst ${main}><si><t>item</t></si><si><r><t>pri</t></r><r><t>ce</t></r><rPh><t>no</t></rPh></si><si><t>tea ` +
      '&amp; milk</t></si></sst>',
    'xl/styles.xml':
      `<styleSheet ${main}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><cellXfs><xf ` +
      'numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>',
    'xl/worksheets/sheet1.xml': `<worksheet ${main}><dimension ref="A1:D4"/><sheetData>
      <row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" \
t="inlineStr"><is><t>twice</t></is></c><c r="D1" t="str"><v>day</v></c></row>
      <row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2"><v>2.5</v></c><c r="C2"><f t="shared" ref="C2:C4" \
si="0">B2*2</f></c><c r="D2" s="1"><v>45322</v></c></row>
      <row r="3"><c t="b"><v>1</v></c><c><v>4</v></c><c><f t="shared" si="0"/></c><c s="2"><v>45322.5</v></c></row>
      <row r="4"><c r="B4"><f>SUM(B2:B3)</f></c><c r="C4"><f t="shared" si="0"/><v>13</v></c><c r="D4" \
t="e"><v>#N/A</v></c></row></sheetData><extra keep="yes"/></worksheet>`,
    'xl/worksheets/sheet2.xml':
      '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData><x:row ' +
      'r="1"><x:c r="A1"><x:f>Sales!B4*(1+Tax)</x:f></x:c><x:c ' +
      'r="B1"><x:v>0.2</x:v></x:c></x:row></x:sheetData></x:worksheet>',
    'xl/charts/chart1.xml': '<chart/>',
    ...others,
  });
}

/** `others` replaces parts. */
export function docxFile(others: Readonly<Record<string, string>> = {}): Uint8Array {
  const body =
    '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Report</w:t></w:r></w:p>' +
    '<w:p><w:r><w:t xml:space="preserve">The answer is ' +
    '</w:t></w:r>' +
    '<w:del><w:r><w:delText>41</w:delText></w:r></w:del>' +
    '<w:ins><w:r><w:t>42</w:t></w:r></w:ins><w:r><w:footnoteReference ' +
    'w:id="2"/></w:r></w:p>' +
    '<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>first</w:t></w:r></w:p>' +
    '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc>' +
    '<w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr>' +
    '<w:tr><w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc></w:tr></w:tbl>';
  const w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
  return zipOf({
    '_rels/.rels': rels(['rId1', 'officeDocument', 'word/document.xml']),
    'word/document.xml': `<w:document ${w}><w:body>${body}</w:body></w:document>`,
    'word/footnotes.xml':
      `<w:footnotes ${w}><w:footnote w:type="separator" ` +
      'w:id="0"><w:p><w:r><w:t>-</w:t></w:r></w:p></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>See ' +
      'below.</w:t></w:r></w:p></w:footnote></w:footnotes>',
    ...others,
  });
}

export function pptxFile(): Uint8Array {
  const slide = (...shapes: readonly string[]): string =>
    `<p:sld xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree>${shapes.join('')}</p:spTree></p:cSld></p:sld>`;
  const shape = (kind: string, text: string): string =>
    `<p:sp><p:nvSpPr><p:nvPr><p:ph${kind === '' ? '' : ` type="${kind}"`}/></p:nvPr></p:nvSpPr><p:txBody>${text
      .split('\n')
      .map((line) => `<a:p><a:r><a:t>${line}</a:t></a:r></a:p>`)
      .join('')}</p:txBody></p:sp>`;
  return zipOf({
    '_rels/.rels': rels(['rId1', 'officeDocument', 'ppt/presentation.xml']),
    'ppt/presentation.xml':
      `<p:presentation xmlns:p="p" xmlns:r="${OFFICE}"><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId ` +
      'id="257" r:id="rId1"/></p:sldIdLst></p:presentation>',
    'ppt/_rels/presentation.xml.rels': rels(
      ['rId1', 'slide', 'slides/slide1.xml'],
      ['rId2', 'slide', 'slides/slide2.xml'],
    ),
    'ppt/slides/slide1.xml': slide(shape('', 'last words')),
    'ppt/slides/slide2.xml': slide(shape('title', 'Penguins'), shape('', 'one\ntwo')),
    'ppt/slides/_rels/slide2.xml.rels': rels(['rId1', 'notesSlide', '../notesSlides/notesSlide1.xml']),
    'ppt/notesSlides/notesSlide1.xml': slide(shape('body', 'say hello'), shape('sldNum', '1')),
  });
}

/** A PDF with a page for each text. */
export function pdfFile(...pages: readonly string[]): Uint8Array {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((text, index) => {
      const stream = `BT /F1 18 Tf 20 100 Td (${text}) Tj ET`;
      return [
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources << /Font << /F1 3 0 R >> >> /Contents ' +
          `${5 + index * 2} 0 R >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  let file = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const at = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const start = file.length;
  file +=
    `xref\n0 ${objects.length + 1}\n0000000000 65535 f ` +
    `\n${places.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')}trailer\n<< /Size ` +
    `${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return strToU8(file, true);
}

/** One second of silence. */
export function wavFile(): Uint8Array {
  const samples = 8000;
  const file = Buffer.alloc(44 + samples);
  file.write('RIFF', 0);
  file.writeUInt32LE(36 + samples, 4);
  file.write('WAVEfmt ', 8);
  for (const [at, value] of [
    [16, 16],
    [24, samples],
    [28, samples],
  ] as const)
    file.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8],
  ] as const)
    file.writeUInt16LE(value, at);
  file.write('data', 36);
  file.writeUInt32LE(samples, 40);
  file.fill(128, 44);
  return file;
}

/** A picture of one pixel. */
export const PNG: Uint8Array = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
