import _Primitives

/// The row of a pushed request or of a device's code, with the authorization request that waits because of the row.
package struct WaitingRequest: Sendable, Equatable {
    /// The waiting request, by its identifier; `nil` if no request waits.
    package let id: String?
    /// The digest of the browser that the request waits in; `nil` if no request waits.
    package let browserDigest: [UInt8]?

    /// Makes a row of these values.
    package init(id: String?, browserDigest: [UInt8]?) {
        self.id = id
        self.browserDigest = browserDigest
    }
}

/// The effect of a browser that comes with a pushed request or with the code of a device. Only a single browser gets an
/// answer, however often it comes.
package enum RequestBeginning: Sendable, Equatable {
    /// No request waits yet. The browser's request is written, and waits from now on.
    case begins
    /// Nothing is written. The value is the identifier of the request that waits in the same browser; `nil` if no row
    /// exists, or if another browser came before.
    case answered(String?)

    /// Judges the request of a browser.
    ///
    /// - Parameter row: The row, as the store has found it; `nil` if the store has found none.
    package init(_ request: AuthorizationRequestRecord, of row: WaitingRequest?) {
        guard let row else {
            self = .answered(nil)
            return
        }
        guard let waiting = row.id, let digest = row.browserDigest else {
            self = .begins
            return
        }
        self = .answered(constantTimeEqual(digest, request.browserDigest) ? waiting : nil)
    }
}
