/**
 * Names of characters in HTML 4, which is what libraries write by name; of what HTML 5 added, none
 * does so. The first row names the characters from U+00A0 on, in their order.
 */
const fromA0 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 ' +
  'sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc ' +
  'Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve ' +
  'Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute ' +
  'acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ' +
  'ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';

const others =
  'ŒOElig œoelig ŠScaron šscaron ŸYuml ƒfnof ˆcirc ˜tilde ΑAlpha ΒBeta ΓGamma ΔDelta ΕEpsilon ΖZeta ' +
  'ΗEta ΘTheta ΙIota ΚKappa ΛLambda ΜMu ΝNu ΞXi ΟOmicron ΠPi ΡRho ΣSigma ΤTau ΥUpsilon ΦPhi ΧChi ' +
  'ΨPsi ΩOmega αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta ιiota κkappa λlambda μmu νnu ' +
  'ξxi οomicron πpi ρrho ςsigmaf σsigma τtau υupsilon φphi χchi ψpsi ωomega ϑthetasym ϒupsih ϖpiv ' +
  '\u2002ensp \u2003emsp \u2009thinsp \u200czwnj \u200dzwj \u200elrm \u200frlm –ndash —mdash ‘lsquo ' +
  '’rsquo ‚sbquo “ldquo ”rdquo „bdquo †dagger ‡Dagger •bull …hellip ‰permil ′prime ″Prime ‹lsaquo ' +
  '›rsaquo ‾oline ⁄frasl €euro ℑimage ℘weierp ℜreal ™trade ℵalefsym ←larr ↑uarr →rarr ↓darr ↔harr ' +
  '↵crarr ⇐lArr ⇑uArr ⇒rArr ⇓dArr ⇔hArr ∀forall ∂part ∃exist ∅empty ∇nabla ∈isin ∉notin ∋ni ∏prod ' +
  '∑sum −minus ∗lowast √radic ∝prop ∞infin ∠ang ∧and ∨or ∩cap ∪cup ∫int ∴there4 ∼sim ≅cong ≈asymp ' +
  '≠ne ≡equiv ≤le ≥ge ⊂sub ⊃sup ⊄nsub ⊆sube ⊇supe ⊕oplus ⊗otimes ⊥perp ⋅sdot ⌈lceil ⌉rceil ⌊lfloor ' +
  '⌋rfloor \u2329lang \u232arang ◊loz ♠spades ♣clubs ♥hearts ♦diams';

/** The name of a character, without `&` and `;`. */
export const htmlNames: ReadonlyMap<string, string> = new Map([
  ...fromA0
    .split(' ')
    .map((name, index): [string, string] => [String.fromCharCode(0xa0 + index), name]),
  ...others.split(' ').map((entry): [string, string] => [entry.slice(0, 1), entry.slice(1)]),
]);
