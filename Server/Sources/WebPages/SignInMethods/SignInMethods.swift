import OAuthProvider

/// The list of the ways to sign in: each way is a folder here, and a line of the list. Routes, entries of the page on
/// which people choose, words of metrics, words of clients' settings and the first proofs that apps show follow from the
/// list.
package enum SignInMethods {
    static var all: [any SignInWay.Type] {
        [
            PhoneSignIn.self,
            AskedPhoneSignIn.self,
            PasswordSignIn.self,
            UpstreamSignInMethod.self,
        ]
    }

    /// The words of clients' settings, as a sentence lists the words.
    package static var words: String { self.list(self.all.map { $0.word }) }

    /// The words of clients' settings with their explanations, as a sentence lists the words.
    package static var explainedWords: String {
        self.list(self.all.map { [$0.word, $0.explanation].compactMap(\.self).joined(separator: " ") })
    }

    /// The words of the ways whose proofs an app can show without the pages (``DirectSignIns``), in the order of the
    /// words.
    static var directWords: [String] { self.all.filter { $0.isDirect }.map { $0.word }.sorted() }

    /// Opens the ways over the parts of a server.
    package static func open(_ foundation: SignInFoundation) -> SignInWays {
        SignInWays(all: self.all.map { $0.init(foundation) })
    }

    private static func list(_ words: [String]) -> String {
        words.dropLast().map { "\($0), " }.joined() + (words.last.map { "or \($0)" } ?? "")
    }
}
