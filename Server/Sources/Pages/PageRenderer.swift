import Foundation
import Mustache
public import Texts

/// A page with its content, which writes itself as HTML.
///
/// A page stands in one file: the content, the view with the template, and the way from the content to the view.
public protocol Page: Sendable {
    /// The reason why a page cannot be rendered; `Never` for most pages.
    associatedtype RenderingFailure: Error = Never

    /// Returns the page in the language of a renderer.
    func html(by renderer: PageRenderer) throws(RenderingFailure) -> RenderedPage
}

/// Makes HTML of typed pages. The renderer escapes everything on a page, except for the drawings of this target.
public struct PageRenderer: Sendable {
    /// The name of the deployment, on every page.
    public let serviceName: String
    /// The host, and the port if the address has a port, that people should see in their address bar.
    public let host: String
    /// The path of the server on its host, such as `/sign-in`; empty if the server has the host to itself.
    public let path: String
    /// The language of the pages.
    public let language: any Language
    /// The files that the pages refer to.
    public let assets: PageAssets
    /// The longest silence of a page's channel, in whole seconds. The script gives up a channel after two silences of
    /// this length.
    private let heartbeatSeconds: Int64
    private let templates: PageTemplates

    /// The event by which a page's channel says that the channel is still open. A comment would not do: scripts see no
    /// comments.
    public static let heartbeatEvent = "heartbeat"

    /// Creates a renderer, which reads each template once for the life of the server.
    ///
    /// - Parameters:
    ///   - serviceName: The name of the deployment.
    ///   - host: The issuer's host, with the port unless the port is the scheme's own.
    ///   - path: The issuer's path, with a slash at the beginning and none at the end; empty without a path.
    ///   - heartbeat: The longest silence of a page's channel. The pages know whole seconds, at least one second.
    ///   - language: The language of the pages.
    public init(
        serviceName: String, host: String, path: String = "", heartbeat: Duration,
        language: any Language = English()
    ) {
        self.heartbeatSeconds = max(1, heartbeat.components.seconds)
        self.serviceName = serviceName
        self.host = host
        self.path = path
        self.language = language
        self.assets = PageAssets(language: language)
        self.templates = PageTemplates(language: language)
    }

    /// The values for the frame around every page's own content.
    private struct Frame {
        let serviceName: String
        let host: String
        let title: Sentence
        let template: String
        let stylesheet: String
        let script: String
        let heartbeat: Int64
        let icon: String
        let mark: String
        let content: Any
    }

    /// Renders a page. Throws the page's own failure, such as ``QRCodeError`` for a text too long for a picture.
    public func html<Content: Page>(_ page: Content) throws(Content.RenderingFailure) -> RenderedPage {
        try page.html(by: self)
    }

    /// Puts the values of a view into the view's template, and the frame around the template.
    package func render<View: PageView>(_ view: View, title: Sentence, formTargets: [String] = []) -> RenderedPage {
        let frame = Frame(
            serviceName: self.serviceName, host: self.host, title: title, template: View.template,
            stylesheet: self.assets.stylesheet.path, script: self.assets.script.path,
            heartbeat: self.heartbeatSeconds, icon: self.assets.icon.path, mark: PageAssets.mark, content: view)
        let html = self.templates.render(ViewValues(of: frame), by: View.self)
        return RenderedPage(
            html: self.placed(html), contentSecurityPolicy: ContentSecurityPolicy(formTargets: formTargets))
    }

    /// The attributes that hold addresses.
    private static let addresses = ["href", "src", "action", "data-tokens"]

    /// Puts the issuer's path in front of this server's own addresses. Templates and models have these addresses
    /// without the path: the addresses begin with a slash.
    ///
    /// No filled-in value can look like an attribute, because the renderer escapes the value's quotation marks.
    private func placed(_ html: String) -> String {
        guard !self.path.isEmpty else { return html }
        return Self.addresses.reduce(html) { html, name in
            html.replacingOccurrences(of: " \(name)=\"/", with: " \(name)=\"\(self.path)/")
        }
    }
}

/// The properties of a view by their names, each read once.
///
/// By itself the library goes through all properties of a view, by reflection, for each name of the template. The
/// search takes nine tenths of the library's work on a sign-in page.
private struct ViewValues: MustacheParent {
    private let values: [String: Any]

    init(of view: Any) { self.init(Mirror(reflecting: view)) }

    private init(_ view: Mirror) {
        let named = view.children.compactMap { property in
            property.label.flatMap { label in Self.value(property.value).map { (label, $0) } }
        }
        self.values = Dictionary(uniqueKeysWithValues: named)
    }

    func child(named name: String) -> Any? { self.values[name] }

    /// Reads the properties of an inner view, and of each view in a list, too; `nil` for an absent value. A sentence is
    /// its plain text.
    private static func value(_ value: Any) -> Any? {
        if let sentence = value as? Sentence { return sentence.plain }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.flatMap { Self.value($0.value) }
        case .struct: return Self(mirror)
        case .collection: return mirror.children.compactMap { Self.value($0.value) }
        default: return value
        }
    }
}

/// A page, ready to be sent, with the policy that belongs to the page.
public struct RenderedPage: Sendable {
    /// The document. The server sends the document as UTF-8.
    public let html: String
    /// The sources from which the document may load, and the targets of the document's forms.
    public let contentSecurityPolicy: ContentSecurityPolicy
}

/// The Content-Security-Policy of a page (W3C CSP Level 3): nothing from other servers, no inline script or style, no
/// frame around the page.
public struct ContentSecurityPolicy: Sendable, Equatable, CustomStringConvertible {
    /// Origins, beside this server's, at which a form may end. A browser also checks the address to which the answer
    /// redirects.
    public let formTargets: [String]

    /// Creates a policy.
    ///
    /// A target must plainly be an origin, or an app's own scheme with its colon. The policy leaves out any other
    /// target: such a target could add a directive of its own, or let all of `https:` in.
    public init(formTargets: [String] = []) {
        self.formTargets = formTargets.filter { target in
            let isOrigin = target.firstRange(of: "://").map { $0.lowerBound > target.startIndex } ?? false
            let isAppScheme =
                target.utf8.last == UInt8(ascii: ":") && target.utf8.contains(UInt8(ascii: "."))
                && target.utf8.count { $0 == UInt8(ascii: ":") } == 1
            guard isOrigin || isAppScheme else { return false }
            return target.utf8.allSatisfy { letter in
                switch letter {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "+-.:/[]".utf8.contains(letter)
                }
            }
        }
    }

    /// The header's value.
    public var description: String {
        let forms = (["'self'"] + self.formTargets).joined(separator: " ")
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            + "form-action \(forms); frame-ancestors 'none'; base-uri 'none'"
    }
}
