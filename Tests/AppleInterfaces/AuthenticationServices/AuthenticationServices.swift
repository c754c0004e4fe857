@_exported import Foundation

@MainActor
open class UIWindow: NSObject {}

public typealias ASPresentationAnchor = UIWindow

public struct ASWebAuthenticationSessionError: Error {
    public enum Code: Int, Sendable {
        case canceledLogin = 1
        case presentationContextNotProvided = 2
        case presentationContextInvalid = 3
    }

    public let code: Code
}

@MainActor
public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

@MainActor
open class ASWebAuthenticationSession: NSObject {
    public typealias CompletionHandler = @Sendable (URL?, (any Error)?) -> Void

    public struct Callback: Sendable {
        public static func customScheme(_ customScheme: String) -> Callback { Callback() }
        public static func https(host: String, path: String) -> Callback { Callback() }
    }

    public init(url: URL, callbackURLScheme: String?, completionHandler: @escaping CompletionHandler) {}
    public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {}

    open weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    open var prefersEphemeralWebBrowserSession = false
    open func start() -> Bool { false }
    open func cancel() {}
}
