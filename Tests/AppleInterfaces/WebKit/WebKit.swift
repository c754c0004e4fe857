@_exported import Foundation
@_exported import FoundationNetworking

@MainActor
open class WKHTTPCookieStore: NSObject {
    open func setCookie(_ cookie: HTTPCookie) async {}
    open func allCookies() async -> [HTTPCookie] { [] }
}

@MainActor
open class WKWebsiteDataStore: NSObject {
    public class func nonPersistent() -> WKWebsiteDataStore { WKWebsiteDataStore() }
    public class func allWebsiteDataTypes() -> Set<String> { [] }
    open var httpCookieStore: WKHTTPCookieStore { WKHTTPCookieStore() }
    open func removeData(ofTypes dataTypes: Set<String>, modifiedSince date: Date) async {}
}

public enum WKUserScriptInjectionTime: Int, Sendable { case atDocumentStart, atDocumentEnd }

@MainActor
open class WKUserScript: NSObject {
    public init(source: String, injectionTime: WKUserScriptInjectionTime, forMainFrameOnly: Bool) {}
}

@MainActor
open class WKUserContentController: NSObject {
    open func addUserScript(_ userScript: WKUserScript) {}
    open func removeAllUserScripts() {}
}

@MainActor
open class WKWebViewConfiguration: NSObject {
    open var websiteDataStore = WKWebsiteDataStore()
    open var userContentController = WKUserContentController()
}

@MainActor
open class WKNavigation: NSObject {}

@MainActor
open class WKWebView: NSObject {
    public init(frame: CGRect, configuration: WKWebViewConfiguration) { self.configuration = configuration }
    public let configuration: WKWebViewConfiguration
    @discardableResult
    open func load(_ request: URLRequest) -> WKNavigation? { nil }
}
