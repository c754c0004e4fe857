import Crypto
public import Texts
import _Primitives

/// The files that pages refer to. A file's name changes with the content, so that a browser may keep the file for ever.
public struct PageAssets: Sendable {
    /// A file with the path and the headers of its response.
    public struct Asset: Sendable {
        /// The absolute path on this server, e.g. `/assets/pages-4fXyr1c5Fsk.css`.
        public let path: String
        /// The value of `Content-Type`.
        public let contentType: String
        /// The file's bytes.
        public let bytes: [UInt8]

        init(name: String, suffix: String, contentType: String, text: String) {
            self.bytes = Array(text.utf8)
            let hash = Base64URL.encode(Array(SHA256.hash(data: self.bytes)).prefix(8))
            self.path = "/assets/\(name)-\(hash).\(suffix)"
            self.contentType = contentType
        }
    }

    let stylesheet = Asset(
        name: "pages", suffix: "css", contentType: "text/css; charset=utf-8", text: Self.stylesheetText)
    let script: Asset
    let icon = Asset(name: "icon", suffix: "svg", contentType: "image/svg+xml", text: Self.iconText)

    /// All files, for the route that serves the files.
    public var all: [Asset] { [self.stylesheet, self.script, self.icon] }

    /// Creates the files of this version, with a script in a language.
    public init(language: any Language = English()) {
        self.script = Asset(
            name: "pages", suffix: "js", contentType: "text/javascript; charset=utf-8",
            text: Self.scriptText(ScriptWords(language)))
    }
}

// MARK: - Drawings

extension PageAssets {
    /// The mark: an open ring, which stands for the question, and a stroke through the gap, which stands for the
    /// answer.
    private static let markPaths = """
        <path d="M21.6 8.9A9.2 9.2 0 1 0 25 17.2" fill="none" class="mark-line" stroke="#fff" stroke-width="2.6" \
        stroke-linecap="round"/>\
        <path d="M11.6 16.2l4.2 4.2L26.4 8.6" fill="none" class="mark-line" stroke="#fff" stroke-width="2.6" \
        stroke-linecap="round" stroke-linejoin="round"/>
        """

    /// The mark in a page. The text beside the mark names the service.
    static let mark = """
        <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">\
        <rect width="32" height="32" rx="9" class="mark-ground"/>\(Self.markPaths)</svg>
        """

    private static let iconText = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
        <rect width="32" height="32" rx="9" fill="#0b5a72"/>\(Self.markPaths)</svg>
        """

    private static func emblem(_ paths: String) -> String {
        """
        <svg viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" \
        stroke-linejoin="round" aria-hidden="true" focusable="false">\(paths)</svg>
        """
    }

    /// A phone, for a page that waits for the person's phone.
    static let phoneEmblem = Self.emblem(
        #"<rect x="14" y="5" width="20" height="38" rx="4"/><path d="M21.5 37.5h5M21 21l2.6 2.6L28 19"/>"#)
    /// A tick, for a page that says “done”.
    static let checkEmblem = Self.emblem(#"<path d="M11 25l9 9 18-20"/>"#)
    /// A cross, for a page that says “refused”.
    static let crossEmblem = Self.emblem(#"<path d="M14 14l20 20M34 14L14 34"/>"#)
    /// A clock, for a page that says “too late”.
    static let clockEmblem = Self.emblem(#"<circle cx="24" cy="24" r="18"/><path d="M24 13v11l7 5"/>"#)
    /// A key, for a page about an account or about setting the server up.
    static let keyEmblem = Self.emblem(#"<circle cx="15" cy="33" r="8"/><path d="M21 27L40 8M33 15l6 6M27 21l4 4"/>"#)
}
