import Foundation

/// The app's display and its questions to the person: put your own screens here. If the person goes back, the functions
/// throw ``GivenUp``.
protocol TownHallScreen: Sendable {
    func say(_ sentence: String) async
    func agrees(to question: String) async -> Bool
    /// Returns the typed text; an empty text if the person types nothing.
    func line(_ question: String) async throws -> String
    /// Reads a PIN without showing the letters.
    func pin(_ question: String) async throws -> String
    func choice(_ question: String, among names: [String]) async throws -> Int
    func openInBrowser(_ address: URL) async
    func wait(for duration: Duration) async throws
}

/// The error that ends a process because the person has gone back or cannot continue.
struct GivenUp: Error {
    var sentence = "You gave up, and nothing was done."
}
