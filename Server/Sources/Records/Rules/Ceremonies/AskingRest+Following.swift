import Settings
package import _Primitives

extension AskingRest {
    /// Makes the rest that begins at `now`. The rest lasts ``Limits/Fixed/firstAskingRest``, or twice as long as the
    /// kept rest before it, and ``Limits/Fixed/longestAskingRest`` at most.
    package init(accountID: String, requester: String, after earlier: AskingRest?, at now: Timestamp) {
        let length = min(
            earlier.map { $0.length * 2 } ?? Limits.Fixed.firstAskingRest, Limits.Fixed.longestAskingRest)
        self.init(accountID: accountID, requester: requester, length: length, until: now + length)
    }
}
