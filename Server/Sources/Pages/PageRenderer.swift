import Foundation
import Mustache

/// Makes HTML of typed pages. Everything that a page shows is escaped, unless it was drawn here.
public struct PageRenderer: Sendable {
    /// What the deployment is called, on every page.
    public let serviceName: String
    /// The host, and the port if there is one, that people should see in their address bar.
    public let host: String
    /// Below which path of its host the server is, such as `/sign-in`: empty where it has the host to itself.
    public let path: String
    /// The files that the pages refer to.
    public let assets: PageAssets
    /// The longest silence of a page's channel, in whole seconds: the script gives a channel up that is silent for two of them.
    private let heartbeatSeconds: Int64
    private let library: MustacheLibrary

    /// The event by which a page's channel says that it is still there: a script sees no comments.
    public static let heartbeatEvent = "heartbeat"

    /// Reads the templates, once for the life of the server.
    ///
    /// - Parameters:
    ///   - serviceName: What the deployment is called.
    ///   - host: The issuer's host, with its port where it is not the scheme's own.
    ///   - path: The issuer's path, if it has one: with a slash at its beginning and none at its end.
    ///   - heartbeat: The longest silence of a page's channel. The pages know whole seconds, one at least.
    public init(serviceName: String = "Countersign", host: String, path: String = "", heartbeat: Duration) {
        self.heartbeatSeconds = max(1, heartbeat.components.seconds)
        self.serviceName = serviceName
        self.host = host
        self.path = path
        self.assets = PageAssets()
        MustacheContentTypes.register(ScalarwiseHTML(), named: ScalarwiseHTML.name)
        // None is left out: a test renders every page.
        self.library = MustacheLibrary(
            templates: PageTemplates.all.compactMapValues { template in
                try? MustacheTemplate(string: ScalarwiseHTML.pragma + template)
            })
    }

    /// What every page has around its own content.
    private struct Frame {
        let serviceName: String
        let host: String
        let title: String
        let template: String
        let stylesheet: String
        let script: String
        let heartbeat: Int64
        let icon: String
        let mark: String
        let content: Any
    }

    func render(_ content: Any, template: String, title: String, formTargets: [String] = []) -> RenderedPage {
        let frame = Frame(
            serviceName: self.serviceName, host: self.host, title: title, template: template,
            stylesheet: self.assets.stylesheet.path, script: self.assets.script.path,
            heartbeat: self.heartbeatSeconds, icon: self.assets.icon.path, mark: PageAssets.mark, content: content)
        // Every template is in the library: the names are constants of this target, and a test renders each.
        let html = self.library.render(ViewValues(of: frame), withTemplate: template) ?? ""
        return RenderedPage(
            html: self.placed(html), contentSecurityPolicy: ContentSecurityPolicy(formTargets: formTargets))
    }

    /// The attributes that hold addresses.
    private static let addresses = ["href", "src", "action", "data-tokens"]

    /// Puts the issuer's path in front of this server's own addresses, which templates and models have without it: those
    /// that begin with a slash.
    ///
    /// Nothing that is filled in can look like an attribute: its quotation marks are escaped.
    private func placed(_ html: String) -> String {
        guard !self.path.isEmpty else { return html }
        return Self.addresses.reduce(html) { html, name in
            html.replacingOccurrences(of: " \(name)=\"/", with: " \(name)=\"\(self.path)/")
        }
    }
}

/// The properties of a view by their names, each read once. The library by itself goes through all properties of a view, by
/// reflection, for each name of the template: nine tenths of its work on a sign-in page.
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

    /// A view in a view has its properties read, too, and so has each of a list; `nil` for what is not there.
    private static func value(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.flatMap { Self.value($0.value) }
        case .struct: return Self(mirror)
        case .collection: return mirror.children.compactMap { Self.value($0.value) }
        default: return value
        }
    }
}

/// What is filled into a template, escaped by Unicode scalar, which is how a browser reads it.
///
/// The library's own content type compares whole `Character`s: a quotation mark with a combining mark after it is none of
/// those that it knows, and would close the attribute it stands in.
private struct ScalarwiseHTML: MustacheContentType {
    static let name = "PAGE"
    /// The first line of every template. A partial begins with the library's content type again, so the frame needs its
    /// own.
    static let pragma = "{{% CONTENT_TYPE: \(Self.name)}}\n"

    func escapeText(_ text: String) -> String { escapedForHTML(text) }
}

/// A page, ready to be sent, with the policy that belongs to it.
public struct RenderedPage: Sendable {
    /// The document, UTF-8 when it is sent.
    public let html: String
    /// What the document may load and where its forms may lead.
    public let contentSecurityPolicy: ContentSecurityPolicy
}

/// The Content-Security-Policy of a page (W3C CSP Level 3): nothing from anywhere but this server, no inline script or
/// style, no frame around it.
public struct ContentSecurityPolicy: Sendable, Equatable, CustomStringConvertible {
    /// Origins, beside this server's, that a form may end at: a browser also checks where the answer redirects to.
    public let formTargets: [String]

    /// A policy. A target that is not plainly an origin, or an app's own scheme with its colon, is left out, so that it
    /// cannot add a directive of its own, or let all of `https:` in.
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
