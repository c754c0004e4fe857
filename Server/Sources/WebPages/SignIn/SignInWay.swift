import Ceremony
import Endpoints
import Hummingbird
package import OAuthProvider
import Pages
import Settings
import _Primitives

/// A way for people to sign in, with the pages of the way. Each way is a folder of `SignInMethods`, and a line in the
/// list of this folder.
protocol SignInWay: SignInMethod {
    /// The word by which the settings of clients choose the way.
    static var word: String { get }
    /// The explanation of the word for administrators; `nil` for a word that explains itself.
    static var explanation: String? { get }
    /// The section of the public document in which the endpoints of the way stand.
    static var section: SignInSection { get }
    /// `true` if an app can show the proofs of the way without the pages (``DirectSignIns``).
    static var isDirect: Bool { get }

    /// Opens the way.
    init(_ foundation: SignInFoundation)

    /// Returns the entries of the way on the page on which a person chooses a way.
    ///
    /// - Parameter words: The words in the settings of the client.
    func choices(for words: [String]) async throws -> [SignInChoice]

    /// Returns the endpoints of the way's own pages.
    func endpoints(_ parts: SignInParts) -> [Endpoint]
}

extension SignInWay {
    /// `nil`: most words explain themselves.
    static var explanation: String? { nil }
    /// Most ways are a part of the sign-in's pages.
    static var section: SignInSection { .signIn }
    /// `false`: most ways need their pages.
    static var isDirect: Bool { false }
}

/// A section of the public document with endpoints of ways to sign in.
enum SignInSection {
    /// The pages on which people sign in.
    case signIn
    /// The pages on which people decide, about a service's data and about changes of their accounts.
    case decisions
}

/// A way to sign in, as a person chooses the way.
struct SignInChoice: Sendable {
    /// The word for the way in the settings of clients.
    let word: String
    /// The entry on the page.
    let entry: SignInChoicePage.Way
}

/// The parts of a server that the pages of ways to sign in share.
struct SignInParts: Sendable {
    let provider: OpenIDProvider
    let upstream: UpstreamSignIns
    /// Takes a browser that comes back from another provider with the confirmation of a change; `nil` for a browser
    /// that signs in.
    let confirmed: @Sendable (_ provider: String, Request, ServerContext) async throws -> Response?
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let trace: TraceRecorder?
}

/// The ways to sign in of a server.
package struct SignInWays: Sendable {
    /// The ways, in the order in which the provider looks for outcomes.
    let all: [any SignInWay]

    /// The ways, as the provider knows the ways.
    package var methods: [any SignInMethod] { self.all }

    /// Returns the entries for a client, in the order of the client's words. A word without an entry is left out: the
    /// other provider with the name is gone.
    func choices(for words: [String]) async throws -> [SignInChoice] {
        var known: [SignInChoice] = []
        for way in self.all { known += try await way.choices(for: words) }
        return words.compactMap { word in known.first { $0.word.hasSameBytes(as: word) } }
    }

    /// Returns the way of a finished sign-in, as the metrics count the way; `nil` for a method that the server does not
    /// have. For another provider the way has no name of the provider, because the name is an operator's word.
    func counted(_ method: String) -> String? {
        self.all.first { $0.isWay(method) }?.name
    }

    /// Returns the endpoints of the ways in a section of the public document.
    func endpoints(in section: SignInSection, _ parts: SignInParts) -> [Endpoint] {
        self.all.filter { type(of: $0).section == section }.flatMap { $0.endpoints(parts) }
    }
}
