() => {
    // Each fault of the tables of a page: a cell beyond its card or over another, a text cut without an ellipsis, a
    // word broken within.
    const found = new Set(), EDGE = 1
    const boxes = node => { const range = document.createRange(); range.selectNodeContents(node); return [...range.getClientRects()].filter(box => box.width > 1) }
    const told = cell => `${cell.closest("table").querySelector("thead th")?.innerText || "table"} / ${cell.innerText.trim().slice(0, 30).replace(/\s+/g, " ")}`
    const isShown = each => each.getClientRects().length && !each.closest(".hidden, details:not([open]) > form")
    const isMarked = (each, cell) => {
        for (let one = each; one && cell.contains(one); one = one.parentElement) {
            const style = getComputedStyle(one)
            if (style.overflowX !== "visible" && (style.textOverflow === "ellipsis" && style.display !== "inline" || style.webkitLineClamp !== "none")) return true
        }
        return false
    }
    for (const table of document.querySelectorAll("main .scroll > table")) {
        const card = table.closest(".card").getBoundingClientRect()
        for (const row of table.rows) {
            const cells = [...row.cells].filter(isShown)
            for (const cell of cells) {
                const box = cell.getBoundingClientRect()
                if (box.left < card.left - EDGE || box.right > card.right + EDGE) found.add(`beyond the card: ${told(cell)}`)
                for (const other of cells) {
                    const its = other.getBoundingClientRect()
                    if (other !== cell && Math.min(box.right, its.right) - Math.max(box.left, its.left) > EDGE && Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top) > EDGE) found.add(`one over the other: ${told(cell)} + ${told(other)}`)
                }
                const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
                for (let text = texts.nextNode(); text; text = texts.nextNode()) {
                    if (!text.nodeValue.trim() || !isShown(text.parentElement) || text.parentElement.closest("svg, .hidden")) continue
                    if (!isMarked(text.parentElement, cell) && boxes(text).some(each => each.left < box.left - EDGE || each.right > box.right + EDGE)) found.add(`cut: ${told(cell)}`)
                    for (const word of text.nodeValue.matchAll(/\p{Lu}?\p{Ll}{2,15}(?!\p{Ll})/gu)) {
                        if (/\p{L}/u.test(text.nodeValue[word.index - 1] || "") && /[a-z]/.test(word[0][0])) continue
                        const range = document.createRange()
                        range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length)
                        const lines = new Set([...range.getClientRects()].filter(each => each.width > 1).map(each => Math.round(each.top)))
                        if (lines.size > 1) found.add(`broken in "${word[0]}": ${told(cell)}`)
                    }
                }
            }
        }
    }
    return [...found]
}
