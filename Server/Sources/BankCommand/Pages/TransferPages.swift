import Foundation

/// The pages of one transfer: waiting for the phone, the receipt, the refusal.
struct TransferPages {
    let visitor: (name: String, formToken: String)
    let transfer: Transfer

    /// The words for the progress of the phone.
    static func words(_ progress: Confirmations.Progress) -> (state: String, text: String) {
        switch progress {
        case .waiting: ("waiting", "Waiting for your phone")
        case .onPhone: ("on-phone", "Your phone shows the transfer: confirm it there")
        case .confirmed, .denied, .expired, .failed: ("done", "Your phone has answered")
        }
    }

    private var order: HTML {
        let order = self.transfer.order
        let reference: HTML =
            order.reference.isEmpty ? .nothing : "<div><dt>Reference</dt><dd>\(order.reference)</dd></div>"
        return """
            <dl class="order">
            <div><dt>Amount</dt><dd class="sum">EUR \(order.amount.text)</dd></div>
            <div><dt>To</dt><dd>\(order.payee)</dd></div>
            <div><dt>IBAN</dt><dd class="number">\(IBAN.grouped(order.iban))</dd></div>
            \(reference)
            </dl>
            """
    }

    func waiting(_ progress: Confirmations.Progress) -> HTML {
        let words = Self.words(progress)
        let path = "/transfers/\(self.transfer.id)"
        return Layout(title: "Confirm on your phone", house: .bank, visitor: self.visitor).page(
            """
            <h1>Confirm on your phone.</h1>
            <div class="grid">
            <section class="card" aria-labelledby="scan">
            <h2 id="scan"><span class="scan">Scan this code</span><span class="unscanned">Open it on this phone</span></h2>
            <figure class="scan" data-testid="transfer-qr">
            <span class="code"><img src="data:image/svg+xml;base64,\(self.transfer.pending.qrCode.base64EncodedString())" \
            alt="QR code that opens this transfer on your phone" width="280" height="280"></span>
            </figure>
            <p class="state" role="status" data-testid="transfer-state" data-state="\(words.state)" \
            data-events="\(path)/events">\(words.text)</p>
            <div class="actions">
            <a class="button quiet touch" href="\(self.transfer.pending.link)" data-testid="transfer-link">Open on this phone</a>
            <form method="get" action="\(path)" data-without-script>
            <button type="submit" class="quiet" data-testid="transfer-refresh">I have confirmed: continue</button>
            </form>
            </div>
            </section>
            <section class="card" aria-labelledby="order">
            <h2 id="order">Your phone must show this</h2>
            \(self.order)
            <p class="muted">Does it show anything else? Decline there, and nothing is sent.</p>
            </section>
            </div>
            """)
    }

    func receipt(bookedAt date: Date) -> HTML {
        Layout(title: "Receipt", house: .bank, visitor: self.visitor).page(
            """
            <section class="card outcome" data-testid="receipt">
            <svg class="seal" viewBox="0 0 64 64" aria-hidden="true" focusable="false"><circle cx="32" cy="32" r="30" \
            fill="#0b5a44"/><path d="m19 33 9 9 18-19" fill="none" stroke="#ffffff" stroke-width="5" \
            stroke-linecap="round" stroke-linejoin="round"/></svg>
            <h1>Sent.</h1>
            <p>You confirmed this transfer on your phone, and the signed answer is about exactly this text.</p>
            \(self.order)
            <p class="muted">Booked on \(DateText.moment(date))</p>
            <p><a class="button" href="/accounts">Back to the accounts</a></p>
            </section>
            """)
    }

    /// The page of a refused transfer. `reference` finds the line in the log that says why.
    func refused(_ refusal: Transfer.Refusal, reference: LogReference) -> HTML {
        let text =
            switch refusal {
            case .denied: "You declined it on your phone."
            case .expired: "Your phone did not answer in time."
            case .failed: "Your phone could not confirm it."
            case .unverified: "What was confirmed is not what you asked for here."
            case .notEnoughMoney: "There is not enough money in the account."
            }
        return Layout(title: "Not sent", house: .bank, visitor: self.visitor).page(
            """
            <section class="card outcome refused" data-testid="refused" data-reason="\(String(describing: refusal))">
            <h1>Not sent.</h1>
            <p class="lead">\(text) No money has moved.</p>
            \(self.order)
            <p><a class="button" href="/accounts">Back to the accounts</a></p>
            \(reference.line)
            </section>
            """)
    }
}
