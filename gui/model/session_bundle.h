// A session and its recording in one file (.kevb), to be handed to others.
#pragma once

#include "gui/model/session.h"

namespace kevt::gui {

// `recording`: a file that `kevtrace report` reads, with the symbols it needs; a trace.dat of version 7 is compressed.
Result<void> writeBundle(const Session& session, const QString& recording, const QString& path);
// Writes the recording to `folder`; the session's trace is that file. Everything is checked before it is believed.
Result<Session> readBundle(const QString& path, const QString& folder);

}  // namespace kevt::gui
