import Settings

/// The words by which a phone shows which browser wants to sign in.
package enum BrowserWords {
    /// Returns words such as "Chrome on Linux" from `User-Agent`, or "a browser" for an unknown header. The words
    /// contain no part of the header itself.
    package static func describe(userAgent: String?) -> String {
        guard let userAgent, userAgent.utf8.count <= Limits.Fixed.userAgentBytes else { return "a browser" }
        func first(_ table: [(mark: String, words: String)]) -> String? {
            table.first { userAgent.contains($0.mark) }?.words
        }
        // The order matters: a browser's header also holds the marks of the browsers behind it in the list.
        let browser = first([
            ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("FxiOS/", "Firefox"),
            ("CriOS/", "Chrome"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
        ])
        let system = first([
            ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"),
            ("Windows", "Windows"), ("Mac OS X", "Mac"), ("Linux", "Linux"),
        ])
        return [browser ?? "a browser", system].compactMap { $0 }.joined(separator: " on ")
    }
}
